"""Bytes that enter a build: what they are called, and the digest that makes them exact."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from torchbuild.model.frozen import Frozen

__all__ = ["Artifact", "ImageRef", "Sha256", "file_name", "is_sha256", "locator_kind"]

_HEX64 = re.compile(r"[0-9a-f]{64}")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,199}")


def is_sha256(text: str) -> bool:
    """Whether `text` is 64 lower-case hexadecimal digits."""
    return _HEX64.fullmatch(text) is not None


def _sha256(text: str) -> str:
    if not is_sha256(text):
        raise ValueError("wanted 64 lower-case hexadecimal digits")
    return text


Sha256 = Annotated[str, AfterValidator(_sha256)]
"""A SHA-256 digest, 64 lower-case hexadecimal digits, computed from bytes or read from the publisher."""


def locator_kind(locator: str) -> str:
    """What resolves a locator: ``pypi``, ``debian``, ``nvidia``, ``https``, ``http`` or ``file``."""
    return locator.partition(":")[0]


def file_name(locator: str) -> str:
    """The last part of a locator, made safe to be a file's name; ``artifact`` where it cannot be one."""
    path = re.split(r"[?#]", locator, maxsplit=1)[0] if "://" in locator else locator
    name = unquote(path.rstrip("/").rpartition("/")[2].rpartition(":")[2])
    return name if _SAFE_NAME.fullmatch(name) else "artifact"


class Artifact(Frozen):
    """One file by digest.

    Locators are neutral, so that a lock holds no mirror: ``pypi:NAME/FILE``,
    ``debian:SUITE/SOURCE/FILE``, ``nvidia:PATH``, or an upstream's own ``https:`` address.
    ``file:PATH`` is relative to the recipe.
    """

    locator: str
    """Where it can be had, without naming a mirror."""
    sha256: Sha256
    """Digest of all its bytes."""
    size: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Bytes; None where the publisher does not say and nobody has seen them yet."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return file_name(self.locator)


class ImageRef(Frozen):
    """A builder image, exactly."""

    name: str
    """What the engine calls it, such as ``localhost/torchbuild/debian-trixie``."""
    id: Sha256
    """The engine's image id: the digest of the image's configuration, which names every layer."""
