"""What git's last words mean: who must act, and whether trying again can help."""

from __future__ import annotations

import re

from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError
from torchbuild.errors import FetchError, HostError, TorchbuildError

__all__ = ["failure", "words"]

_AUTH = (
    "authentication failed",
    "could not read username",
    "could not read password",
    "terminal prompts disabled",
    "permission denied (",
    "host key verification failed",
    "returned error: 401",
    "returned error: 403",
    "access denied",
    "invalid username or password",
)
_ABSENT = (
    "not found",
    "does not appear to be a git repository",
    "invalid gitfile format",
    "returned error: 404",
    "no such file or directory",
)
_TRANSIENT = (
    "could not resolve host",
    "connection timed out",
    "connection reset",
    "connection refused",
    "failed to connect",
    "couldn't connect to server",
    "network is unreachable",
    "early eof",
    "rpc failed",
    "returned error: 429",
    "returned error: 5",
    "hung up unexpectedly",
    "unexpected disconnect",
    "operation too slow",
    "timed out",
    "empty reply from server",
    "gnutls recv error",
    "transfer closed",
    "invalid index-pack output",
)
_OWNER = "detected dubious ownership"
_THIN = ("repository lacks these prerequisite commits",)
_HELPERLESS = ("cannot run ", "is not a git command", "unable to find remote helper")
_FULL = ("no space left on device", "disk quota exceeded")
_READ_ONLY = ("read-only file system", "unable to create temporary file", "insufficient permission")


def words(stderr: str) -> tuple[str, ...]:
    """What git said, without progress, at most the last eight lines."""
    lines = [line.rpartition("\r")[2].strip() for line in stderr.splitlines()]
    return tuple(f"git: {line}" for line in lines if line and not line.startswith("hint:"))[-8:]


def failure(stderr: str, url: str, doing: str) -> TorchbuildError | PassingError:
    """The error that git's last words stand for; a PassingError where another try can help.

    Args:
        stderr: all that git said.
        url: what it was to reach; credentials do not pass into the error.
        doing: what it was asked for, such as ``fetch v2.6.0``.
    """
    said, place = stderr.lower(), without_credentials(url)
    why = words(stderr) or ("git said nothing",)
    known = _of_this_machine(stderr, place, doing, why) or _of_upstream(said, place, doing, why)
    if known is not None:
        return known
    error = FetchError(
        "git-not-reachable",
        f"{place}: git could not {doing}",
        why=why,
        fix=f"Check the network and the proxy settings: git ls-remote {place}",
    )
    return PassingError(error) if any(sign in said for sign in _TRANSIENT) else error


def _of_this_machine(stderr: str, place: str, doing: str, why: tuple[str, ...]) -> HostError | None:
    said = stderr.lower()
    if any(sign in said for sign in _FULL):
        return HostError(
            "disk-full", f"no space is left to {doing}", why=why, fix="Free space on the cache's file system."
        )
    if any(sign in said for sign in _READ_ONLY):
        return HostError(
            "not-writable",
            f"git may not write to {doing}",
            why=why,
            fix="Give this user the rights on the cache.",
        )
    if any(sign in said for sign in _HELPERLESS):
        return HostError(
            "git-helper-missing",
            f"{place}: git lacks a program to {doing}",
            why=why,
            fix="Install what git names: apt-get install git openssh-client",
        )
    if _OWNER in said:
        # git reads no repository of another user: its configuration may start programs
        named = re.search(r"--add safe\.directory (.+)", stderr)
        trusted = named[1] if named else place
        return HostError(
            "git-owner-differs",
            f"{place}: the repository belongs to another user",
            why=why,
            fix=f"Add an exception, if you trust it: git config --global --add safe.directory {trusted}",
        )
    return None


def _of_upstream(said: str, place: str, doing: str, why: tuple[str, ...]) -> FetchError | None:
    if any(sign in said for sign in _THIN):
        return FetchError(
            "git-bundle-incomplete",
            f"{place}: the bundle builds on commits that are not in it",
            why=why,
            fix="Make it anew with all of its history: git bundle create FILE --all",
        )
    if any(sign in said for sign in _AUTH):
        return FetchError(
            "git-auth-failed",
            f"{place}: refused to {doing} without valid credentials",
            why=why,
            fix=f"Set up a credential helper or a key, then check: git ls-remote {place}",
        )
    if any(sign in said for sign in _ABSENT):
        return FetchError(
            "git-repository-missing",
            f"{place}: no repository there",
            why=why,
            fix=f"Correct the address in the recipe; check it: git ls-remote {place}",
        )
    return None
