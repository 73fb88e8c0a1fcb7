"""Proof of an interpreter: it is the one that was locked, and what is built for it finds what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version

from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.requirements import numpy_fact
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, lines, number, table, text, told

__all__ = ["CHECKS", "completed", "numpy_finding"]

_MOST = 8


def completed(answer: Mapping[str, Any]) -> Finding:
    """What ``complete_python.py`` printed, as a finding."""
    what, wanted = "the interpreter's own configuration, told where it is", "complete"
    files, refused, built_at = lines(answer, "files"), lines(answer, "refused"), answer.get("built_at")
    if files is None or refused is None or not isinstance(built_at, str):
        said = "it printed nothing that can be read"
        return told("python-completed", what, "failed", seen=said, wanted=wanted)
    if not (built_at and files):
        said = "no configuration was found that names where it was built"
        return told("python-completed", what, "warned", seen=said, wanted=wanted)
    shown = f"{what}: {len(files)} files, without {' '.join(refused) or 'no option'}"
    return told("python-completed", shown, "passed", seen=wanted, wanted=wanted)


def _as_locked(reference: str, what: str, shown: str, part: LockedPart, key: str) -> Finding:
    """As it was when it was locked. A lock of ours that does not say is none; an older one may not know."""
    wanted = part.says.get(key, "")
    if wanted:
        return equal(reference, what, shown or "nothing", wanted)
    if part.is_ours:
        return told(reference, what, "failed", seen=shown or "nothing", wanted="what the lock does not say")
    return told(reference, f"{what}: the lock does not say", "not run", seen=shown)


def _identity(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Version, ABI and path are the locked ones; the path is its own, not a shim's or a venv's."""
    wanted = part.version or "the release that the lock does not name"
    yield equal("python-version", "version of the interpreter", text(seen, "version"), wanted)
    yield _as_locked("python-abi", "ABI of the interpreter", text(seen, "soabi"), part, "soabi")
    path = text(seen, "executable")
    yield _as_locked("python-path", "path of the interpreter", path, part, "executable")
    kind = text(seen, "kind") or "nothing that can be read"
    yield equal("python-path", f"what {part.says.get('executable') or path or 'it'} is", kind, "program")


def _platform(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Of the target's processor family, and of 64 bits: a kernel of 64 bits runs one of 32 as well."""
    is_seen = f"{text(seen, 'machine')}, {number(seen.get('bits'))} bits"
    yield equal(
        "python-machine", "processor family of the interpreter", is_seen, f"{wanted.machine}, 64 bits"
    )


def _headers(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Python.h is where the interpreter says, and that is where the lock has it."""
    include = text(seen, "include")
    yield equal("python-headers", f"Python.h in {include}", _yes(seen.get("headers")), "there")
    yield _as_locked("python-headers", "directory of its headers", include, part, "include")


def _library(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """LIBDIR exists, and holds the library of an interpreter that says it has one."""
    libdir = text(seen, "libdir")
    found = _yes(seen.get("libdir_found") if libdir else None)
    yield equal("python-libdir", f"LIBDIR {libdir or 'without a value'}", found, "there")
    if not isinstance(seen.get("shared"), bool):
        yield told("python-library", "shared library: nobody looked whether it has one", "not run")
    elif seen["shared"]:
        library = text(seen, "library")
        found = _yes(seen.get("library_found") if library else None)
        yield equal("python-library", f"shared library {library}", found, "there")


def _options(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Directories that its own configuration hands to every build: those of another machine are none here."""
    what = "directories in the interpreter's compiler options"
    by_name = table(seen, "gone")
    found = [lines(by_name, key) for key in by_name]
    gone = sorted({word for words in found for word in words or ()})
    # front ends call our compilers, whatever it names; an option travels with them
    wrong: Outcome = "failed" if part.is_ours else "warned"
    if not isinstance(seen.get("gone"), Mapping) or (not gone and None in found):
        outcome: Outcome = "failed" if part.is_ours else "not run"
        shown, what = "nobody looked", f"{what}: nobody looked"
    else:
        outcome, shown = wrong if gone else "passed", ", ".join(gone[:_MOST])
    yield told("python-options", what, outcome, seen=shown or "each exists", wanted="each exists")


def _tools(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Compilers and binutils of another machine: a suspicion, for the build calls the recipe's."""
    what = "tools that the interpreter's configuration names"
    missing = table(seen, "tools_missing")
    tools = [f"{name}={text(missing, name)}" for name in sorted(missing, key=str)]
    if not isinstance(seen.get("tools_missing"), Mapping):
        yield told("python-tools", f"{what}: nobody looked", "not run")
        return
    yield told(
        "python-tools",
        what,
        "warned" if tools else "passed",
        seen=", ".join(tools) or "each exists",
        wanted="each exists; the build calls the recipe's compilers",
    )


def _threading(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """With or without the global lock, as locked; without, no module can link a static libpython."""
    yield _as_locked(
        "python-free-threaded", "free-threaded", text(seen, "free_threaded"), part, "free_threaded"
    )
    if seen.get("free_threaded") == "yes":
        is_shared = seen.get("shared") is True
        yield told(
            "python-static-library",
            "library of a free-threaded interpreter",
            "passed" if is_shared else "warned",
            seen=text(seen, "library") if is_shared else "static alone: a module that links it fails",
            wanted="a shared one, or modules that link none",
        )


def _extension(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A small module, compiled with the build's compiler and its own options, is imported by it."""
    said = "compiled and imported" if seen.get("extension") == "" else text(seen, "extension") or "not tried"
    yield equal("python-extension", "a small extension module", said, "compiled and imported")


def _release(part: LockedPart, wanted: Wanted, _seen: Seen) -> Iterator[Finding]:
    """Whether the release of torch says that it is for this Python: by a table, so no more than suspicion."""
    what = f"torch {wanted.torch or '?'} for Python {part.version}"
    fact = torch_python(wanted.torch) if wanted.torch else None
    if fact is None:
        yield told("python-for-torch", f"{what}: nothing is known of this release", "not run")
        return
    if not part.version:
        yield told("python-for-torch", f"{what}: the lock does not say", "not run", wanted=fact.python)
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
    try:
        major = Version(version).major
    except InvalidVersion:
        return told("python-numpy-abi", f"{what}: its version is none", "not run", seen=version)
    cannot = "a wheel made against NumPy 1 does not work with NumPy 2"
    wanted = f"NumPy {fact.abi} ({fact.source})" + (f": {cannot}" if major < fact.abi else "")
    outcome: Outcome = "passed" if major == fact.abi else "warned"
    return told("python-numpy-abi", what, outcome, seen=version, wanted=wanted)


def _yes(value: object) -> str:
    return "there" if value is True else "missing"


CHECKS: Checks = {
    "identity": _identity,
    "platform": _platform,
    "headers": _headers,
    "library": _library,
    "options": _options,
    "tools": _tools,
    "threading": _threading,
    "extension": _extension,
    "release": _release,
}
