"""Proof of an interpreter: it is the one that was locked, and what is built for it finds what it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packaging.version import Version

from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.requirements import numpy_fact
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, told

__all__ = ["CHECKS", "numpy_finding"]

_MOST = 8


def _identity(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Version, ABI and path are the locked ones; the path is its own, not a shim's or a venv's."""
    yield equal("python-version", "version of the interpreter", _text(seen, "version"), part.version)
    yield equal("python-abi", "ABI of the interpreter", _text(seen, "soabi"), _said(part, "soabi"))
    yield equal(
        "python-path", "path of the interpreter", _text(seen, "executable"), _said(part, "executable")
    )
    kind = _text(seen, "kind") or "nothing that can be read"
    yield equal("python-path", f"what {_said(part, 'executable')} is", kind, "program")


def _platform(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Of the target's processor family, and of 64 bits: a kernel of 64 bits runs one of 32 as well."""
    is_seen = f"{_text(seen, 'machine')}, {_text(seen, 'bits')} bits"
    yield equal(
        "python-machine", "processor family of the interpreter", is_seen, f"{wanted.machine}, 64 bits"
    )


def _headers(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Python.h is where the interpreter says, and that is where the lock has it."""
    include = _text(seen, "include")
    yield equal("python-headers", f"Python.h in {include}", _yes(seen.get("headers")), "there")
    yield equal("python-headers", "directory of its headers", include, _said(part, "include") or include)


def _library(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """LIBDIR exists, and holds the library of an interpreter that says it has one."""
    libdir = _text(seen, "libdir")
    yield equal(
        "python-libdir", f"LIBDIR {libdir or 'without a value'}", _yes(seen.get("libdir_found")), "there"
    )
    if seen.get("shared"):
        library, found = _text(seen, "library"), _yes(seen.get("library_found"))
        yield equal("python-library", f"shared library {library}", found, "there")


def _options(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Directories that its own configuration hands to every build: those of another machine are none here."""
    gone = sorted({word for words in _table(seen, "gone").values() for word in words})
    tools = [f"{name}={tool}" for name, tool in sorted(_table(seen, "tools_missing").items())]
    # front ends call our compilers, whatever it names; an option travels with them
    outcome: Outcome = "passed" if not gone else "failed" if part.is_ours else "warned"
    yield told(
        "python-options",
        "directories in the interpreter's compiler options",
        outcome,
        seen=", ".join(gone[:_MOST]) or "each exists",
        wanted="each exists",
    )
    yield told(
        "python-tools",
        "tools that the interpreter's configuration names",
        "warned" if tools else "passed",
        seen=", ".join(tools) or "each exists",
        wanted="each exists; the build calls the recipe's compilers",
    )


def _threading(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """With or without the global lock, as locked; without, no module can link a static libpython."""
    wanted = _said(part, "free_threaded")
    yield equal("python-free-threaded", "free-threaded", _text(seen, "free_threaded"), wanted)
    if seen.get("free_threaded") == "yes":
        yield told(
            "python-static-library",
            "library of a free-threaded interpreter",
            "passed" if seen.get("shared") else "warned",
            seen=_text(seen, "library")
            if seen.get("shared")
            else "static alone: a module that links it fails",
            wanted="a shared one, or modules that link none",
        )


def _extension(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A small module, compiled with the build's compiler and its own options, is imported by it."""
    said = "compiled and imported" if seen.get("extension") == "" else _text(seen, "extension") or "not tried"
    yield equal("python-extension", "a small extension module", said, "compiled and imported")


def _release(part: LockedPart, wanted: Wanted, _seen: Seen) -> Iterator[Finding]:
    """Whether the release of torch says that it is for this Python: by a table, so no more than suspicion."""
    what = f"torch {wanted.torch or '?'} for Python {part.version}"
    fact = torch_python(wanted.torch) if wanted.torch else None
    if fact is None:
        yield told("python-for-torch", f"{what}: nothing is known of this release", "not run")
        return
    experiment = fact.tries(part.version)
    yield told(
        "python-for-torch",
        what,
        "passed" if fact.promises(part.version) else "warned",
        seen=part.version + (" (experimental)" if experiment else ""),
        wanted=f"Python {fact.python} ({fact.source})",
    )


def numpy_finding(release: str, version: str) -> Finding:
    """Whether the NumPy of the build environment lets the wheel work with NumPy 2, where its tree can.

    Args:
        release: of torch, such as ``2.6.0``.
        version: of NumPy in the build environment; empty where there is none.
    """
    fact, what = numpy_fact(release), f"NumPy that torch {release} is made against"
    if fact is None or not version:
        why = "the build environment has none" if fact else "nothing is known of this release"
        return told("python-numpy-abi", f"{what}: {why}", "not run")
    major = Version(version).major
    cannot = "a wheel made against NumPy 1 does not work with NumPy 2"
    wanted = f"NumPy {fact.abi} ({fact.source})" + (f": {cannot}" if major < fact.abi else "")
    outcome: Outcome = "passed" if major == fact.abi else "warned"
    return told("python-numpy-abi", what, outcome, seen=version, wanted=wanted)


def _said(part: LockedPart, key: str) -> str:
    """What it said when it was locked; a lock that does not know is not fulfilled."""
    return part.says.get(key, "")


def _text(seen: Seen, key: str) -> str:
    value = seen.get(key)
    return "" if value is None else str(value)


def _yes(value: object) -> str:
    return "there" if value is True else "missing"


def _table(seen: Seen, key: str) -> dict[str, Any]:
    value = seen.get(key)
    return dict(value) if isinstance(value, dict) else {}


CHECKS: Checks = {
    "identity": _identity,
    "platform": _platform,
    "headers": _headers,
    "library": _library,
    "options": _options,
    "threading": _threading,
    "extension": _extension,
    "release": _release,
}
