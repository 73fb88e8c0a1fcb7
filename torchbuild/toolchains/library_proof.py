"""What is proven of a library: header and library are one release, and the one that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version

from torchbuild.knowledge.libraries import library_fact, lowest_chips, minimums
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.library_wish import numbers, same_release
from torchbuild.toolchains.proof import Check, Seen, Wanted, lines, number, table, text, told

__all__ = ["CHECKS", "completed"]

_KINDS = {
    "directory": "a directory",
    "dangling": "a link that leads nowhere",
    "unreadable": "a file that cannot be read",
    "missing": "nothing",
}


def completed(answer: Mapping[str, Any]) -> Finding:
    """What ``complete_library.py`` printed, as a finding."""
    what, errors = "the library, completed", lines(answer, "errors")
    made = (lines(answer, "links"), lines(answer, "programs"))
    if errors is None or (not errors and None in made):
        said = "it printed nothing that can be read"
        return told("library-completed", what, "failed", seen=said, wanted="complete")
    names = ", ".join(name for found in made for name in found or ()) or "nothing was missing"
    return told(
        "library-completed",
        f"{what}: {names}",
        "failed" if errors else "passed",
        seen="; ".join(errors) if errors else "complete",
        wanted="complete",
    )


def _title(part: LockedPart) -> str:
    return library_fact(part.name).title


def _library_version(seen: Seen) -> str:
    """What the library says when it is called, else what stands in its file."""
    library = table(seen, "library")
    return text(library, "called") or text(library, "said")


def _header(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A tree that reads no version goes on with ``?`` or stops far from the reason."""
    header = table(seen, "header")
    kind, path = text(header, "kind"), text(header, "path")
    what = f"the header of {_title(part)}, {path or 'which nobody looked for'}"
    wanted = "a header that tells its version"
    if kind != "file":
        shown = _KINDS.get(kind, kind or "nothing")
        yield told("library-header", what, "failed", seen=shown, wanted=wanted)
    elif not text(header, "version"):
        where = text(header, "versions")
        yield told("library-header", what, "failed", seen=f"no version in {where or path}", wanted=wanted)
    else:
        yield told("library-header", what, "passed", seen=text(header, "version"), wanted=wanted)


def _file(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What is linked is a file: a directory is handed to the linker as it is, hours later."""
    library = table(seen, "library")
    kind, path = text(library, "kind"), text(library, "path")
    what = f"the library of {_title(part)}, {path or 'which nobody looked for'}"
    shown = text(library, "real") if kind == "file" else _KINDS.get(kind, kind or "nothing")
    yield told("library-file", what, "passed" if kind == "file" else "failed", seen=shown, wanted="a file")


def _agree(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    header, library = text(table(seen, "header"), "version"), _library_version(seen)
    what = f"header and library of {_title(part)}"
    if not library:
        why = text(table(seen, "library"), "why_not_called") or "it was not looked at"
        yield told(
            "library-header-agrees", f"{what}: the library does not tell: {why}", "not run", wanted=header
        )
    else:
        yield told(
            "library-header-agrees",
            what,
            "passed" if header and same_release(library, header) else "failed",
            seen=library,
            wanted=header or "a header's version",
        )


def _version(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    what = f"release of {_title(part)} in {part.prefix}"
    version = _library_version(seen) or text(table(seen, "header"), "version")
    if not part.version:
        yield told("library-version", f"{what}: the lock names none", "not run", seen=version)
    else:
        outcome: Outcome = "passed" if same_release(version, part.version) else "failed"
        yield told("library-version", what, outcome, seen=version or "nothing", wanted=part.version)


def _cuda(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """One major release is enough: within it, the publisher's libraries go together."""
    built = text(table(seen, "library"), "cuda")
    what = f"CUDA that {_title(part)} was built with"
    if not built or not wanted.cuda:
        why = "its file does not tell" if wanted.cuda else "the lock has no toolkit"
        yield told("library-cuda", f"{what}: {why}", "not run", seen=built, wanted=wanted.cuda)
    else:
        major = numbers(wanted.cuda)[:1]
        yield told(
            "library-cuda",
            what,
            "passed" if major and numbers(built)[:1] == major else "failed",
            seen=built,
            wanted=f"{major[0] if major else wanted.cuda}.x",
        )


def _minimum(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Below what somebody read in the tree it is refused; below what is only believed it is a suspicion."""
    version = text(table(seen, "header"), "version") or _library_version(seen)
    for row in minimums(part.name, wanted.torch) if wanted.torch else ():
        what = f"least {_title(part)} for {wanted.torch} ({row.source}, {row.checked})"
        if not numbers(version):
            yield told("library-minimum", f"{what}: its version is not known", "not run", wanted=row.least)
        elif numbers(version) >= numbers(row.least):
            yield told("library-minimum", what, "passed", seen=version, wanted=f">={row.least}")
        else:
            outcome: Outcome = "failed" if row.is_confirmed else "warned"
            yield told("library-minimum", what, outcome, seen=version, wanted=f">={row.least}")


def _chips(part: LockedPart, wanted: Wanted, _seen: Seen) -> Iterator[Finding]:
    """A suspicion only: what its file holds is read elsewhere. What is built here holds what was asked."""
    if part.provider in ("source", "bundled") or not wanted.archs or not part.version:
        return
    try:
        rows = lowest_chips(part.name, str(Version(part.version)), wanted.cuda.split(".")[0])
    except InvalidVersion:
        return
    for row in rows:
        lacking = [text for text in wanted.archs if not row.has(parse_arch(text).number)]
        what = f"chips that {_title(part)} {part.version} has code for ({row.source}, {row.checked})"
        outcome: Outcome = "warned" if lacking else "passed"
        yield told("library-chips", what, outcome, seen=row.chips, wanted=", ".join(lacking or wanted.archs))


def _program(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The header that is included and the library that is started are what the tree will have."""
    program = table(seen, "program")
    what = f"a small program with {_title(part)}"
    header, library = text(program, "header"), text(program, "library")
    built, code = program.get("built"), number(program.get("exit"))
    if not isinstance(built, bool):
        why = text(program, "why") or "nobody tried"
        yield told("library-program", f"{what}: {why}", "not run")
    elif not (built and code == 0 and header and library):
        state = (
            f"exit code {'unknown' if code is None else code}" if built else "it does not compile and link"
        )
        said = text(program, "said").strip()[-500:]
        yield told("library-program", what, "failed", seen=f"{state}: {said}", wanted="two versions")
    else:
        outcome: Outcome = "passed" if header == library else "failed"
        yield told("library-program", what, outcome, seen=f"library {library}", wanted=f"header {header}")


def _others(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Other copies are no fault: which one the tree took is proven after configure."""
    what = f"other copies of {_title(part)} where the tree searches"
    others = seen.get("others")
    if not isinstance(others, list | tuple):
        yield told("library-others", f"{what}: nobody looked", "not run")
    elif not others:
        yield told("library-others", what, "passed", seen="none", wanted="none")
    for item in others if isinstance(others, list | tuple) else ():
        row = item if isinstance(item, Mapping) else {}
        version = text(row, "version")
        shown = f"{text(row, 'path')}{f' ({version})' if version else ''} in {text(row, 'where')}"
        told_how = f"{what}; configure must find {part.prefix}, and the gate compares"
        seen_text = shown if row else "something that cannot be read"
        yield told("library-others", told_how, "warned", seen=seen_text, wanted="none")


def _one(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Two distributions of one library lay their files over one another, and the last one wins."""
    names = lines(seen, "distributions")
    if names is None:
        yield told("library-one-distribution", f"distributions of {_title(part)}: nobody looked", "not run")
        return
    what = f"distributions of {_title(part)} in the build's Python environment"
    yield told(
        "library-one-distribution",
        what,
        "failed" if len(names) > 1 else "passed",
        seen=", ".join(names) or "none",
        wanted="one at most",
    )


CHECKS: dict[str, Check] = {
    "header": _header,
    "file": _file,
    "header-agrees": _agree,
    "version": _version,
    "cuda": _cuda,
    "minimum": _minimum,
    "chips": _chips,
    "program": _program,
    "others": _others,
    "one-distribution": _one,
}
"""Of every part that the toolchain lays or finds; a bundled library is not there yet, and has none."""
