"""What git may be told to reach: addresses and names that cannot be options, helpers or programs."""

from __future__ import annotations

import re

from torchbuild.errors import RecipeError

__all__ = ["check_ref", "check_url", "scheme", "shown_address"]

_SCHEMES = ("https", "http", "ssh", "git", "file")
_SCP = re.compile(r"(?:[A-Za-z0-9._~+-]+@)?[A-Za-z0-9][A-Za-z0-9._-]*:(?!//)[^\s]+")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(?!(?:[^/]*@)?-)[^\s]+")
_REF = re.compile(r"(?!-)[^\s~^:?*\[\\\x00-\x20\x7f]+")


def scheme(url: str) -> str:
    """How git will reach `url`: one of https, http, ssh, git, file; empty where it must not."""
    if any(ord(letter) <= 0x20 or ord(letter) == 0x7F for letter in url) or "::" in url.partition("/")[0]:  # noqa: PLR2004
        return ""
    if url.startswith("/"):
        return "file"
    if match := _URL.fullmatch(url):
        return match[1] if match[1] in _SCHEMES else ""
    return "ssh" if "://" not in url and _SCP.fullmatch(url) else ""


def shown_address(url: str) -> str:
    """What may be shown of something that should be an address: no user, no password, no query."""
    return re.sub(r"(://)[^/]*@|[?#].*", r"\1", url, flags=re.DOTALL)


def check_url(url: str) -> str:
    """The scheme of an address that git may be given.

    Raises:
        RecipeError: ``git-url-refused`` for options, remote helpers, relative paths and unknown schemes, and
            for a query: git would not know what to do with it, and tokens stand there.
    """
    found, shown = scheme(url), shown_address(url)
    if found in {"http", "https"} and re.search(r"[?#]", url):
        raise RecipeError(
            "git-url-refused",
            f"{shown}: not an address that git may be given",
            why=("seen: a query or a fragment behind the path", "wanted: an address that ends with its path"),
            fix="Leave it out; set up a credential helper for tokens, see: git help gitcredentials.",
        )
    if not found:
        raise RecipeError(
            "git-url-refused",
            f"{shown!r}: not an address that git may be given",
            why=(f"wanted: one of {', '.join(_SCHEMES)}, or user@host:path, or an absolute path",),
            fix="Write the repository's whole address, beginning with https://.",
        )
    return found


def check_ref(ref: str) -> str:
    """`ref`, if it can be the name of a ref or a commit.

    Raises:
        RecipeError: ``git-ref-refused``.
    """
    if not _REF.fullmatch(ref) or ".." in ref or "@{" in ref:
        raise RecipeError(
            "git-ref-refused",
            f"{ref!r}: not a name that git may be given",
            why=("wanted: a tag, a branch, a whole ref such as refs/pull/1/head, or 40 hexadecimal digits",),
            fix="Write the name of a tag, such as v2.6.0, or a whole commit id.",
        )
    return ref
