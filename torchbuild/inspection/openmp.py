"""Whether a wheel brings one OpenMP runtime: of two in a process each starts threads, or one ends it."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from torchbuild.inspection.archive import Contents
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.verdict import failed, settled
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check"]

REFERENCES: tuple[str, ...] = ("elf-openmp",)
(_OPENMP,) = REFERENCES
_RUNTIME = re.compile(r"(lib(?:gomp|iomp5|omp))(?:-[0-9a-f]+)?\.so(?:\.[0-9]+)*")
"""A runtime by the name of its file; bundlers put a digest into it."""
_LAYER = re.compile(r"libmkl_(gnu|intel)_thread(?:-[0-9a-f]+)?\.so(?:\.[0-9]+)*")
_CALLS = {"gnu": "libgomp", "intel": "libiomp5"}
"""Layers of MKL call a runtime that they do not name as needed."""


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:  # noqa: ARG001  the contract's
    """One verdict over all ELF files: what they need, and what lies among them."""
    files = [elf for elf in contents.elf if elf.kind in ("library", "program") and not elf.problem]
    named = _named(files)
    seen = " ".join(sorted(named)) or "none"
    return settled(_OPENMP, _second(named), what="one OpenMP runtime at most", seen=seen)


def _named(files: Iterable[ElfFacts]) -> dict[str, list[str]]:
    """Runtimes, each as it is called, with the files that name them."""
    named: dict[str, list[str]] = defaultdict(list)
    for elf in files:
        for name in (posixpath.basename(elf.path), *elf.needed):
            if _RUNTIME.fullmatch(name):
                named[name].append(elf.path)
    whole = {_family(name) for name in named}
    for elf in files:
        for name in elf.needed:
            found = _LAYER.fullmatch(name)
            if found and _CALLS[found[1]] not in whole:
                named[f"{_CALLS[found[1]]} (called by {name})"].append(elf.path)
    return named


def _family(name: str) -> str:
    found = _RUNTIME.fullmatch(name)
    return found[1] if found else name


def _second(named: dict[str, list[str]]) -> Iterator[Finding]:
    if len(named) > 1:
        rows = (f"{name} by {' '.join(sorted(set(paths))[:3])}" for name, paths in sorted(named.items()))
        yield failed(
            _OPENMP,
            f"{len(named)} OpenMP runtimes",
            seen="; ".join(rows),
            wanted="one, under one name, for every file",
        )
