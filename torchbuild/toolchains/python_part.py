"""The interpreter as a part, whoever provides it: what it must say of itself."""

from __future__ import annotations

from pathlib import PurePosixPath

from torchbuild.model.lock import LockedPython
from torchbuild.model.part import LockedPart

__all__ = ["builder_part", "described", "is_free_threaded", "is_version"]


def builder_part(provider: str, python: LockedPython) -> LockedPart:
    """The part for an interpreter of the builder, with ``from = "system"`` or ``"path"``."""
    prefix = str(PurePosixPath(python.executable).parent.parent)
    found = LockedPart(name="python", provider=provider, version=python.version, prefix=prefix)
    return described(found, python)


def described(part: LockedPart, python: LockedPython) -> LockedPart:
    """With what the interpreter said when it was locked: its proof compares that."""
    says = part.says | {
        "executable": python.executable,
        "free_threaded": "yes" if is_free_threaded(python.soabi) else "no",
        "include": python.include,
        "soabi": python.soabi,
    }
    return part.model_copy(update={"version": python.version, "says": dict(sorted(says.items()))})


def is_free_threaded(soabi: str) -> bool:
    """Whether an ABI such as ``cpython-313t-x86_64-linux-gnu`` is one without the global lock."""
    parts = soabi.split("-")
    return len(parts) > 1 and "t" in parts[1].lstrip("0123456789")


def is_version(wanted: str, version: str, soabi: str) -> bool:
    """Whether an interpreter is what ``python.version`` asks for: ``3.13``, ``3.13.5``, ``3.13t``."""
    free = wanted.endswith("t")
    return free == is_free_threaded(soabi) and f"{version}.".startswith(f"{wanted.removesuffix('t')}.")
