"""NVIDIA's redist documents: which archives a release of a product is made of, with their digests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchbuild.errors import ConflictError, FetchError
from torchbuild.knowledge.redist import ProductFact
from torchbuild.model.artifact import Artifact, is_sha256
from torchbuild.model.frozen import Frozen

__all__ = ["Archive", "RedistDocument", "document_locator", "full_release", "platform_of", "read_document"]

_PLATFORMS = {"x86_64": "linux-x86_64", "aarch64": "linux-sbsa"}
"""Processor family -> what a document calls it; ``linux-aarch64`` there is Jetson."""
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]*(/[A-Za-z0-9][A-Za-z0-9._+~-]*)+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+_-]{0,63}")
_VARIANT = re.compile(r"cuda[0-9]+(\.[0-9]+)?")
_SIZE = re.compile(r"[0-9]{1,15}")
_SHOWN = 80
"""Characters of a stranger's value that an error repeats."""


class Archive(Frozen):
    """One archive of a document."""

    component: str
    """What it is an archive of."""
    version: str
    """The component's own version, such as ``12.4.131``."""
    artifact: Artifact
    """The file, by the publisher's digest."""


@dataclass(frozen=True, slots=True)
class RedistDocument:
    """One document."""

    locator: str
    """Where it is."""
    components: Mapping[str, Any]
    """By name, as they were read."""

    def archive(self, component: str, machine: str, cuda_major: str = "") -> Archive | None:
        """The archive of a component for a platform; None where it has none.

        Raises:
            ConflictError: ``redist-variant-missing`` where there is none for this CUDA.
            FetchError: ``redist-document-invalid``.
        """
        entry = self._table(self.components.get(component), component)
        where = f"{component}.{platform_of(machine)}"
        found = self._table(entry.get(platform_of(machine)), where)
        if any(_VARIANT.fullmatch(key) for key in found):
            where, found = self._variant(found, where, f"cuda{cuda_major}")
        if not found:
            return None
        return Archive(
            component=component,
            version=self._text(entry, "version", component, _VERSION, "a version such as 12.4.131"),
            artifact=Artifact(
                locator=f"{self.locator.rpartition('/')[0]}/{self._path(found, where)}",
                sha256=self._sha256(found, where),
                size=self._size(found, where),
            ),
        )

    def platforms(self, component: str) -> str:
        """What a component can be had for, sorted, for a message."""
        entry = self._table(self.components.get(component), component)
        return _names({key: value for key, value in entry.items() if isinstance(value, dict)})

    def _variant(self, found: Mapping[str, Any], where: str, key: str) -> tuple[str, Mapping[str, Any]]:
        """Of one archive for each CUDA, the entry of ours."""
        if key not in found:
            raise ConflictError(
                "redist-variant-missing",
                f"{self.locator}: nothing for this CUDA",
                why=(f"seen: {where} for {_names(found)}", f"wanted: {key}"),
                fix="Name a release of the library that was made for this CUDA, or another CUDA.",
            )
        return f"{where}.{key}", self._table(found[key], f"{where}.{key}")

    def _path(self, found: Mapping[str, Any], where: str) -> str:
        return self._text(found, "relative_path", where, _PATH, "a path below the document's directory")

    def _sha256(self, found: Mapping[str, Any], where: str) -> str:
        digest = self._text(found, "sha256", where, None, "64 hexadecimal digits").lower()
        if not is_sha256(digest):
            raise _invalid(self.locator, f"{where}.sha256 is {digest[:_SHOWN]!r}", "64 hexadecimal digits")
        return digest

    def _size(self, found: Mapping[str, Any], where: str) -> int | None:
        seen = found.get("size")
        if seen is None:
            return None
        if isinstance(seen, bool) or not isinstance(seen, (int, str)) or not _SIZE.fullmatch(_shown(seen)):
            raise _invalid(self.locator, f"{where}.size is {_shown(seen)}", "a number of bytes")
        return int(seen)

    def _table(self, seen: object, where: str) -> Mapping[str, Any]:
        """An object of the document; empty where there is none."""
        if seen is None:
            return {}
        if not isinstance(seen, Mapping):
            raise _invalid(self.locator, f"{where} is {_shown(seen)}", "an object")
        return seen

    def _text(
        self, table: Mapping[str, Any], key: str, where: str, shape: re.Pattern[str] | None, words: str
    ) -> str:
        seen = table.get(key)
        if not isinstance(seen, str) or (shape is not None and not shape.fullmatch(seen)):
            raise _invalid(self.locator, f"{where}.{key} is {_shown(seen)}", words)
        return seen


def platform_of(machine: str) -> str:
    """What documents call a processor family."""
    return _PLATFORMS[machine]


def full_release(fact: ProductFact, key: str, version: str | None) -> str:
    """The release whose document is meant: its first three numbers.

    Args:
        fact: the product.
        key: the recipe's key that holds it, such as ``cuda.version``.
        version: what the recipe says.

    Raises:
        ConflictError: ``redist-release-incomplete`` where it has fewer.
    """
    release = ".".join((version or "").split(".")[:3])
    if _RELEASE.fullmatch(release):
        return release
    known = [item for item in fact.releases if version and item.startswith(f"{version}.")] or fact.releases
    raise ConflictError(
        "redist-release-incomplete",
        f"{key} = {version or ''!r} names no single release",
        why=(
            "wanted: three numbers, as NVIDIA's document of a release is named",
            f"known: {', '.join(known)} ({fact.source})",
        ),
        fix=f'Set {key} = "{known[-1]}", or another full release.',
    )


def document_locator(fact: ProductFact, release: str) -> str:
    """Where the document of a release is."""
    return f"nvidia:compute/{fact.product}/redist/redistrib_{release}.json"


def read_document(locator: str, text: str, release: str) -> RedistDocument:
    """Take it apart; entries are looked at when they are asked for.

    Raises:
        FetchError: ``redist-document-invalid`` where it is none, or another release's.
    """
    try:
        seen = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(locator, f"{_shown(text)}: {_shown(error)}", "a document in JSON") from error
    if not isinstance(seen, dict):
        raise _invalid(locator, _shown(seen), "an object")
    label = seen.get("release_label", release)
    if label != release:
        raise _invalid(locator, f"release_label is {_shown(label)}", release)
    return RedistDocument(
        locator=locator, components={key: value for key, value in seen.items() if isinstance(value, dict)}
    )


def _names(table: Mapping[str, Any]) -> str:
    return ", ".join(sorted(key[:_SHOWN] for key in table)[:20]) or "nothing"


def _shown(seen: object) -> str:
    """A stranger's value, short and in one line."""
    text = "nothing" if seen is None else str(seen)
    return " ".join(text[: 2 * _SHOWN].split())[:_SHOWN]


def _invalid(locator: str, seen: str, wanted: str) -> FetchError:
    return FetchError(
        "redist-document-invalid",
        f"{locator}: not a document of NVIDIA's archives",
        why=(f"seen: {seen}", f"wanted: {wanted}"),
        fix="Look at what [machine.mirrors] and the proxy give for it; the publisher's own is valid.",
    )
