"""Whether the BLAS is what it was called: it computes, by the file and the layer that were meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from posixpath import basename

from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import PARTS, LockedPart
from torchbuild.toolchains.openmp_proof import Program, lies_below, links, one_runtime, passed_if, program_of
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, told

__all__ = ["CHECKS"]

_WORST = 1e-10
"""Of a product of the factors against the matrix, whose entries are at most 1; roundoff is at 1e-14."""
_SAYS = {
    "mkl": re.compile(r"Math Kernel Library Version ([0-9]+(?:\.[0-9]+)*)"),
    "openblas": re.compile(r"OpenBLAS ([0-9]+(?:\.[0-9]+)*)"),
    "blis": re.compile(r"BLIS ([0-9]+(?:\.[0-9]+)*)"),
}
_FILES = {"mkl": "libmkl_", "openblas": "openblas", "blis": "libblis"}
_LAYER = re.compile(r"lib(mkl_(?:[a-z]+_thread|sequential))\.")


def _links(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield from links("blas-links", part, seen)


def _program(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    program = program_of(seen, "blas")
    what = f"a program that calls dgemm_, linked with {part.says.get('libraries', '')}"
    yield equal("blas-program", what, program.error or "links and runs", "links and runs")


def _product(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Whole numbers, whose product is exact in any order: an ILP64 library under an LP64 name fails here."""
    program = program_of(seen, "blas")
    what = "dgemm_ of 192 by 192 whole numbers: wrong entries"
    yield _ran(program, "blas-result") or equal("blas-result", what, program.value("dgemm_wrong"), "0")


def _lapack(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Without LAPACK a wheel imports, and its linear algebra raises."""
    program = program_of(seen, "blas")
    not_run = _ran(program, "blas-lapack")
    if not_run:
        yield not_run
    elif "dgesdd_info" not in program.values:
        outcome: Outcome = "warned" if part.says.get("blas") == "blis" else "failed"
        reason = program.lapack_error or "dgesdd_ is not there"
        yield told("blas-lapack", "LAPACK", outcome, seen=reason, wanted="dgesdd_")
    else:
        worst = _number(program.value("dgesdd_worst"))
        good = program.value("dgesdd_info") == "0" and worst is not None and 0 <= worst <= _WORST
        seen_text = f"info {program.value('dgesdd_info')}, worst {program.value('dgesdd_worst')}"
        yield told(
            "blas-lapack",
            "dgesdd_ of a 40 by 24 matrix, factors multiplied back",
            passed_if(good),
            seen=seen_text,
            wanted=f"info 0, at most {_WORST}",
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _library(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Which file really gave the routines."""
    program = program_of(seen, "blas")
    for key, routine in (("dgemm_from", "dgemm_"), ("dgesdd_from", "dgesdd_")):
        if routine == "dgesdd_" and "dgesdd_info" not in program.values:
            continue
        path = program.value(key)
        not_run = _ran(program, "blas-library")
        what = f"file that {routine} is from"
        if not_run:
            yield not_run
        elif key not in program.values:
            yield told("blas-library", f"{what}: the program does not say", "not run")
        elif "blas" not in part.says:
            shown, wanted = path or "the program itself", "a library of the BLAS that the lock does not name"
            yield told("blas-library", what, "failed", seen=shown, wanted=wanted)
        elif part.says.get("linkage") == "static":
            is_itself = program.values[key] == ""
            shown = "the program itself" if is_itself else path or "something that cannot be read"
            yield equal("blas-library", what, shown, "the program itself")
        else:
            fault = _fault(part, path)
            yield told(
                "blas-library",
                what,
                passed_if(not fault),
                seen=path or "the program itself",
                wanted=fault or path,
            )


def _fault(part: LockedPart, path: str) -> str:
    """What would be right instead; empty where the file is the part's."""
    word = _FILES.get(part.says.get("blas", ""), "")
    if word not in basename(path):
        return f"a library called {word}"
    if part.provider == "system":
        return "a library of the builder" if not path or lies_below(PARTS, path) else ""
    return "" if lies_below(part.prefix, path) else f"a library below {part.prefix}"


def _version(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """By as many numbers as both have: MKL 2026.2.0 calls itself 2026.2."""
    program = program_of(seen, "blas")
    kind = part.says.get("blas", "")
    said = program.value("version")
    found = _SAYS[kind].search(said) if kind in _SAYS else None
    not_run = _ran(program, "blas-version")
    if not_run:
        yield not_run
    elif not part.version or kind not in _SAYS:
        what = f"version of {kind}: the lock names none" if kind in _SAYS else f"version: {kind} says none"
        yield told("blas-version", what, "not run", seen=said)
    else:
        seen_version = found[1] if found else said or "nothing"
        agree = found is not None and _agree(found[1], part.version)
        yield told(
            "blas-version", f"version of {kind}", passed_if(agree), seen=seen_version, wanted=part.version
        )


def _agree(one: str, other: str) -> bool:
    pairs = zip(_numbers(one), _numbers(other), strict=False)
    return all(left == right for left, right in pairs)


def _numbers(version: str) -> list[str]:
    parts = re.split(r"[.+-]", version)
    return list(takewhile(str.isdigit, parts)) or parts


def _threading(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The layer of MKL brings the OpenMP runtime that it calls."""
    if part.says.get("blas") != "mkl":
        return
    program = program_of(seen, "blas")
    layers = sorted({found[1] for path in program.maps if (found := _LAYER.match(basename(path)))})
    wanted = next(
        (name for name in part.says.get("libraries", "").split() if _LAYER.match(f"lib{name}.")), ""
    )
    not_run = _ran(program, "blas-threading")
    if not_run:
        yield not_run
    elif part.says.get("linkage") == "static":
        what = "threading layer of MKL: it is a part of the program, which names none"
        yield told("blas-threading", what, "not run", wanted=wanted)
    else:
        yield equal("blas-threading", "threading layer of MKL", " ".join(layers) or "none", wanted)


def _one_openmp(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    program = program_of(seen, "blas")
    yield _ran(program, "openmp-one") or one_runtime(program, "OpenMP runtimes in a process with BLAS")


def _ran(program: Program, reference: str) -> Finding | None:
    """A finding that says why nothing can be said; None where the program ran."""
    if not program.error:
        return None
    return told(reference, "the program that would show it does not run, see blas-program", "not run")


CHECKS: Checks = {
    "links": _links,
    "program": _program,
    "result": _product,
    "lapack": _lapack,
    "library": _library,
    "version": _version,
    "threading": _threading,
    "one-openmp": _one_openmp,
}
"""Of the part ``blas``. `seen` is what look_blas.py printed, with ``completed`` from complete_blas.py."""
