"""Whether OpenMP works with the compiler, by the runtime that was meant and by no other beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename, normpath
from typing import Any

from torchbuild.knowledge.blas_facts import openmp_fact, openmp_names
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, lines, table, text, told

__all__ = ["CHECKS", "Program", "lies_below", "links", "one_runtime", "passed_if", "program_of", "runtimes"]

_RUNTIME = re.compile(r"lib(?:gomp|iomp5|omp)(?:-[0-9a-f]+)?\.so(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True)
class Program:
    """What one program of look_blas.py said."""

    error: str
    """Why it did not run; empty where it did."""
    values: Mapping[str, Any]
    """What it printed, by key."""
    maps: tuple[str, ...]
    """Files that were mapped in it; none where nobody looked: each program has some."""
    lapack_error: str
    """Why it was built without LAPACK; empty where it was not."""

    def value(self, key: str) -> str:
        """What stands at a key; empty for nothing."""
        return text(self.values, key)


def program_of(seen: Seen, name: str) -> Program:
    """The program of that name; one that was never tried did not run."""
    found = seen.get(name)
    if not isinstance(found, Mapping):
        return Program("nobody tried", {}, (), "")
    error = found.get("error")
    return Program(
        error if isinstance(error, str) else "nothing says whether it ran",
        table(found, "values"),
        lines(found, "maps") or (),
        text(found, "lapack_error"),
    )


def runtimes(program: Program) -> tuple[str, ...]:
    """The OpenMP runtimes that were loaded in it, by path."""
    return tuple(sorted({path for path in program.maps if _RUNTIME.fullmatch(basename(path))}))


def passed_if(good: bool) -> Outcome:  # noqa: FBT001  the one thing that it is about
    """The outcome of a comparison."""
    return "passed" if good else "failed"


def one_runtime(program: Program, what: str) -> Finding:
    """Two in one process each start their own threads, and the second may end the process."""
    found = runtimes(program)
    if not program.maps:
        return told("openmp-one", f"{what}: nobody looked", "not run", wanted="one at most")
    return told(
        "openmp-one", what, passed_if(len(found) <= 1), seen=" ".join(found) or "none", wanted="one at most"
    )


def links(reference: str, part: LockedPart, seen: Seen) -> Iterator[Finding]:
    """The names that a linker is told are there, and no layer that nobody asked for."""
    if not part.is_ours:
        return
    missing = lines(table(seen, "completed"), "missing")
    what = f"names for the linker in {part.prefix}"
    if missing is None:
        yield told(reference, f"{what}: nothing says that they were made", "not run")
        return
    shown = "; ".join(item[:200] for item in missing) or "all there"
    yield told(reference, what, passed_if(not missing), seen=shown, wanted="all there")


def lies_below(prefix: str, path: str) -> bool:
    """Whether a file is the part's, wherever its path winds on the way."""
    return normpath(path).startswith(f"{prefix}/")


def _links(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield from links("openmp-links", part, seen)


def _program(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    if _kind(part) == "none":
        yield told("openmp-program", "OpenMP: the recipe wants none", "not run")
        return
    program = program_of(seen, "openmp")
    what = "a program with a parallel loop"
    yield equal("openmp-program", what, program.error or "links and runs", "links and runs")


def _threads(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Two threads were asked for, and the sum of 1 to 1000 is known."""
    program = program_of(seen, "openmp")
    if _kind(part) == "none" or program.error:
        return
    said = f"{program.value('openmp_threads')} threads, sum {program.value('openmp_sum')}"
    yield equal("openmp-threads", "a loop in two threads", said, "2 threads, sum 500500")


def _runtime(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Which file really runs the threads."""
    kind = _kind(part)
    program = program_of(seen, "openmp")
    if kind == "none" or program.error:
        return
    path, what = program.value("openmp_from"), "OpenMP runtime of the program"
    if kind not in openmp_names():
        seen_text, wanted = path or "nothing", "a runtime that the lock names"
        yield told("openmp-runtime", what, "failed", seen=seen_text, wanted=wanted)
        return
    beginning = openmp_fact(kind).library
    wanted = beginning if part.provider == "system" else f"{beginning} below {part.prefix}"
    is_there = part.provider == "system" or lies_below(part.prefix, path)
    good = basename(path).startswith(f"{beginning}.") and is_there
    yield told("openmp-runtime", what, passed_if(good), seen=path or "nothing", wanted=wanted)


def _one(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    program = program_of(seen, "openmp")
    if _kind(part) != "none" and not program.error:
        yield one_runtime(program, "OpenMP runtimes in a process")


def _version(part: LockedPart, _wanted: Wanted, _seen: Seen) -> Iterator[Finding]:
    if part.version:
        what = f"version of {_kind(part)}: it has no call that says one; its digest is the lock's"
        yield told("openmp-version", what, "not run", wanted=part.version)


def _kind(part: LockedPart) -> str:
    """Which runtime; empty where the lock does not say, which is no runtime that is known."""
    return part.says.get("openmp", "")


CHECKS: Checks = {
    "links": _links,
    "program": _program,
    "threads": _threads,
    "runtime": _runtime,
    "one": _one,
    "version": _version,
}
"""Each check of the part ``openmp``. `seen` is what look_blas.py printed, with ``completed`` likewise."""
