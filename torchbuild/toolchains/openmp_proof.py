"""Whether OpenMP works with the compiler, by the runtime that was meant and by no other beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename
from typing import Any

from torchbuild.knowledge.blas_facts import openmp_fact
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, told

__all__ = ["CHECKS", "Program", "one_runtime", "passed_if", "program_of", "runtimes"]

_RUNTIME = re.compile(r"lib(?:gomp|iomp5|omp)(?:-[0-9a-f]+)?\.so(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True)
class Program:
    """What one program of look_blas.py said."""

    error: str
    """Why it did not run; empty where it did."""
    values: Mapping[str, Any]
    """What it printed, by key."""
    maps: tuple[str, ...]
    """Files that were mapped in it."""
    lapack_error: str
    """Why it was built without LAPACK; empty where it was not."""

    def value(self, key: str) -> str:
        """What stands at a key; empty for nothing."""
        return str(self.values.get(key, ""))


def program_of(seen: Seen, name: str) -> Program:
    """The program of that name; one that was never tried did not run."""
    found = seen.get(name)
    if not isinstance(found, Mapping):
        return Program("nobody tried", {}, (), "")
    values, maps = found.get("values"), found.get("maps")
    return Program(
        str(found.get("error", "")),
        values if isinstance(values, Mapping) else {},
        tuple(str(path) for path in maps) if isinstance(maps, list | tuple) else (),
        str(found.get("lapack_error", "")),
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
    return told(
        "openmp-one", what, passed_if(len(found) <= 1), seen=" ".join(found) or "none", wanted="one at most"
    )


def _links(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    if not part.is_ours:
        return
    completed = seen.get("completed")
    if not isinstance(completed, Mapping):
        yield told("openmp-links", "names for the linker: nothing says that they were made", "not run")
        return
    missing = "; ".join(str(item)[:200] for item in completed.get("missing") or ())
    yield equal("openmp-links", f"names for the linker in {part.prefix}", missing or "all there", "all there")


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
    path = program.value("openmp_from")
    beginning = openmp_fact(kind).library
    wanted = beginning if part.provider == "system" else f"{beginning} below {part.prefix}"
    is_there = part.provider == "system" or path.startswith(f"{part.prefix}/")
    good = basename(path).startswith(f"{beginning}.") and is_there
    what = "OpenMP runtime of the program"
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
    return part.says.get("openmp", "none")


CHECKS: Checks = {
    "links": _links,
    "program": _program,
    "threads": _threads,
    "runtime": _runtime,
    "one": _one,
    "version": _version,
}
"""Each check of the part ``openmp``. `seen` is what look_blas.py printed, with ``completed`` likewise."""
