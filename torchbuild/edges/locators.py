"""Who resolves which locator: the machine's mirrors turn a neutral name into addresses to try."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.artifact import locator_kind
from torchbuild.model.frozen import Frozen

__all__ = [
    "MirrorSettings",
    "debian_paths",
    "debian_pool_path",
    "mirrored",
    "split_debian",
    "split_pypi",
    "web_candidates",
    "without_credentials",
]

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~!%-]*")
DEBIAN_COMPONENTS = ("main", "contrib", "non-free", "non-free-firmware")


class MirrorSettings(Frozen):
    """Where this machine gets things. Never part of a key, a lock or a wheel."""

    index_url: str = ""
    """Base of the Python package index; empty: what pip is configured to use here."""
    debian: str = ""
    """Base of the Debian mirror, the directory of ``dists`` and ``pool``; empty: what apt uses here."""
    prefixes: Mapping[str, str] = Field(default_factory=dict)
    """Prefix of an address or locator -> what replaces it, tried before the original."""
    publishers: Mapping[str, str] = Field(default_factory=dict)
    """Kind of a locator, such as ``nvidia`` -> the publisher's own address, which its path is below. The same
    on every machine; a prefix for ``nvidia:`` or for that address is tried before it."""


def mirrored(url: str, prefixes: Mapping[str, str]) -> tuple[str, ...]:
    """`url` under each replacement whose prefix fits, the longest prefix first, then `url` itself."""
    fitting = sorted((prefix for prefix in prefixes if prefix and url.startswith(prefix)), key=len)
    replaced = [prefixes[prefix] + url[len(prefix) :] for prefix in reversed(fitting)]
    return tuple(dict.fromkeys([*replaced, url]))


def web_candidates(locator: str, mirrors: MirrorSettings) -> tuple[str, ...]:
    """Addresses to try, in order, for a locator that is an address or becomes one by prefix or publisher.

    Raises:
        RecipeError: ``locator-unresolved`` where nothing on this machine says where that kind lies;
            ``locator-invalid``.
    """
    addresses = mirrored(locator, mirrors.prefixes)
    publisher = mirrors.publishers.get(locator_kind(locator))
    if publisher is not None:
        addresses += mirrored(publisher + _path(locator), mirrors.prefixes)
    candidates = tuple(
        dict.fromkeys(url for url in addresses if locator_kind(url) in {"https", "http"}),
    )
    if not candidates:
        raise RecipeError(
            "locator-unresolved",
            f"{locator}: nothing says where files of kind {locator_kind(locator)!r} can be had",
            why=("wanted: https:, http:, file:, pypi:, debian:, nvidia:, or a prefix in [machine.mirrors]",),
            fix="Correct it (a file beside the recipe is file:NAME), or say in [machine.mirrors] where the "
            f'kind lies: "{locator_kind(locator)}:" = "https://HOST/PATH/".',
        )
    return candidates


def _path(locator: str) -> str:
    """What stands behind the kind; a path that does not leave."""
    path = locator.partition(":")[2]
    if not all(_PART.fullmatch(part) for part in path.split("/")):
        raise _no_locator(locator, f"{locator_kind(locator)}:PATH")
    return path


def split_pypi(locator: str) -> tuple[str, str]:
    """Name and file of ``pypi:NAME/FILE``.

    Raises:
        RecipeError: ``locator-invalid``.
    """
    name, file = _split(locator, 2, "pypi:NAME/FILE")
    return name, file


def split_debian(locator: str) -> tuple[str, str, str]:
    """Suite, source and file of ``debian:SUITE/SOURCE/FILE``.

    Raises:
        RecipeError: ``locator-invalid``.
    """
    suite, source, file = _split(locator, 3, "debian:SUITE/SOURCE/FILE")
    return suite, source, file


def debian_pool_path(locator: str) -> str | None:
    """Where a mirror keeps the package ``debian:SUITE/pool/PATH``; None for locators of another shape."""
    suite, *parts = locator.partition(":")[2].split("/")
    if len(parts) < len(("pool", "component", "file")) or parts[0] != "pool":
        return None
    return "/".join(parts) if all(_PART.fullmatch(part) for part in (suite, *parts)) else None


def _split(locator: str, count: int, shape: str) -> list[str]:
    parts = locator.partition(":")[2].split("/")
    if len(parts) != count or not all(_PART.fullmatch(part) for part in parts):
        raise _no_locator(locator, shape)
    return parts


def _no_locator(locator: str, shape: str) -> RecipeError:
    return RecipeError(
        "locator-invalid",
        f"{locator}: not a locator",
        why=(f"wanted: {shape}, each part letters, digits and . _ + ~ ! -",),
        fix=f"Write it as {shape}.",
    )


def debian_paths(source: str, file: str) -> tuple[str, ...]:
    """Where a mirror may keep a file of a source package, one path a component, the likeliest first."""
    initial = source[:4] if source.startswith("lib") and len(source) > len("lib") else source[:1]
    return tuple(f"pool/{component}/{initial}/{source}/{file}" for component in DEBIAN_COMPONENTS)


def without_credentials(url: str) -> str:
    """The address without user, password and query; an ssh user is a part of the address and stays.

    A query is where forges and stores of files take tokens and signatures.

    Raises:
        FetchError: ``address-invalid`` where it cannot be read as one.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise FetchError(
            "address-invalid",
            "an address cannot be read",
            why=(f"seen: {error}",),
            fix="Correct the address in the recipe or in [machine].",
        ) from error
    if parts.scheme in {"http", "https"}:
        parts = parts._replace(query="", fragment="")
    if "@" not in parts.netloc or not parts.scheme:
        return urlunsplit(parts) if parts.scheme in {"http", "https"} else url
    user, _, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}@{host}" if parts.scheme == "ssh" else host
    return urlunsplit((parts.scheme, kept, parts.path, parts.query, parts.fragment))
