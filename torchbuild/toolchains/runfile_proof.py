"""What came of NVIDIA's installer, judged check by check: its exit code alone is never believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torchbuild.errors import StageError
from torchbuild.knowledge.runfile_failures import runfile_failure
from torchbuild.model.finding import Finding, Outcome, failures
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Check, Seen, Wanted, lines, none_of, number, table, text, told

__all__ = ["CHECKS", "install_error"]

_GIB = 1 << 30
_BEGINNING = 20
"""Characters of a file's first two that are shown: a report may hold more."""
_LINE = 500
"""Characters of a line of the installer's that are read."""


def _file(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A web page that was saved as an installer begins with no script."""
    file, size = table(seen, "file"), part.pieces[0].artifact.size if part.pieces else None
    begins, has = text(file, "begins"), number(file.get("size"))
    is_right = begins == "#!" and has is not None and size in (None, has)
    yield told(
        "runfile-file",
        f"the runfile {text(file, 'path')}",
        "passed" if is_right else "failed",
        seen=f"begins with {begins[:_BEGINNING]!r}, {'unknown' if has is None else has} bytes",
        wanted="begins with '#!'" + (f", {size} bytes" if size is not None else ""),
    )


def _space(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Enough space, before the installer runs out of it without saying where."""
    places = [_map(place) for place in _list(seen.get("space"))]
    if not places:
        yield told("runfile-space", "free space: nobody looked", "not run")
    for place in places:
        free, need = number(place.get("free")), number(place.get("need"))
        if free is None or need is None:
            what = f"free space in {text(place, 'path') or 'no place'}: what was seen is no number"
            yield told("runfile-space", what, "not run")
            continue
        yield told(
            "runfile-space",
            f"free space in {text(place, 'path')}",
            "passed" if free >= need else "failed",
            seen=f"{free / _GIB:.2f} GiB free",
            wanted=f"{need / _GIB:.2f} GiB",
        )


def _executable(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The installer unpacks itself and starts what it has unpacked."""
    what, refuses = f"programs in the temporary folder {text(seen, 'temp')}", seen.get("temp_refuses")
    if not isinstance(refuses, str):
        yield told("runfile-executable", f"{what}: nobody tried", "not run")
        return
    yield told(
        "runfile-executable",
        what,
        "failed" if refuses else "passed",
        seen=refuses or "start",
        wanted="start, not mounted noexec",
    )


def _left(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What an earlier try left, and what could not be removed, poisons this one."""
    yield none_of("runfile-left", "remains of an earlier installation", lines(seen, "left"))


def _foreign(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A log of its name that belongs to somebody else makes the installer crash, if it sees it."""
    what = "logs of other users in the installer's way"
    if not isinstance(seen.get("foreign"), list):
        yield told("runfile-foreign-log", f"{what}: nobody looked", "not run")
        return
    found = [_map(log) for log in seen["foreign"]]
    logs = [f"{text(log, 'path') or 'a log'} of user {number(log.get('owner'))}" for log in found]
    is_seen = bool(logs) and seen.get("isolated") is not True
    yield told(
        "runfile-foreign-log",
        what,
        "failed" if is_seen else "passed",
        seen=", ".join(logs) if is_seen else "none",
        wanted=f"none, or of user {number(seen.get('user'))}",
    )


def _isolation(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Its own /tmp and /var/log; a builder that has no right to mount says so."""
    is_alone = seen.get("isolated") is True
    yield told(
        "runfile-isolation",
        "the installer's /tmp and /var/log",
        "passed" if is_alone else "warned",
        seen="its own" if is_alone else f"the builder's: {text(seen, 'isolation_why')}",
        wanted="its own",
    )


def _exit(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What the installer itself says of its success."""
    if "exit_code" not in seen:
        hindered = ", ".join(lines(seen, "hindered") or ("nothing says why",))
        yield told("runfile-exit", f"the installer was not started: {hindered}", "not run")
        return
    code = number(seen["exit_code"])
    late = "" if seen.get("timed_out") is False else ", after the time that it had was up"
    outcome: Outcome = "passed" if code == 0 and not late else "failed"
    shown = f"exit code {'unknown' if code is None else code}{late}"
    yield told("runfile-exit", "the installer", outcome, seen=shown, wanted="exit code 0")


def _log(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Its log has the cause of which its output says nothing; one that ended well is only told about."""
    if "exit_code" not in seen:
        yield told("runfile-log", "the installer was not started, and has no log", "not run")
        return
    logs = [_map(log) for log in _list(seen.get("logs"))]
    errors = [(text(log, "path") or "no path", lines(log, "errors")) for log in logs]
    where = ", ".join(path for path, _ in errors) or "none was written"
    shown = [f"{path}: {line}" for path, found in errors for line in found or ()]
    what = f"the installer's log ({where})"
    if not shown and (not isinstance(seen.get("logs"), list) or None in [found for _, found in errors]):
        yield told("runfile-log", f"{what}: nobody read it", "not run")
        return
    outcome: Outcome = "passed" if not shown else "warned" if number(seen["exit_code"]) == 0 else "failed"
    yield told("runfile-log", what, outcome, seen="; ".join(shown), wanted="")


def _programs(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What a whole toolkit has: an installer that ended well may have left nothing."""
    programs = {str(name): text(table(seen, "programs"), name) for name in table(seen, "programs")}
    wrong = [f"{name}: {state or 'unknown'}" for name, state in sorted(programs.items()) if state != "there"]
    outcome: Outcome = "failed" if wrong or not programs else "passed"
    yield told(
        "runfile-programs",
        "programs of the toolkit",
        outcome,
        seen="; ".join(wrong) or ("all there" if programs else "nobody looked"),
        wanted="all there",
    )


def _driver(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The machine's driver is none of our business."""
    if "driver_touched" not in seen:
        yield told("runfile-driver", "the installer: it was not started", "not run")
        return
    touched = seen["driver_touched"]
    if not isinstance(touched, bool):
        yield told("runfile-driver", "the driver's part of the installer: nobody looked", "not run")
        return
    yield told(
        "runfile-driver",
        "the driver's part of the installer",
        "failed" if touched else "passed",
        seen="ran" if touched else "did not run",
        wanted="did not run",
    )


def _outside(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What it changed in the builder besides."""
    if "outside" not in seen:
        yield told("runfile-outside", "the installer: it was not started", "not run")
        return
    what = "places of the builder that the installer changed"
    yield none_of("runfile-outside", what, lines(seen, "outside"), "warned")


CHECKS: dict[str, Check] = {
    "file": _file,
    "space": _space,
    "executable": _executable,
    "left": _left,
    "foreign": _foreign,
    "isolation": _isolation,
    "exit": _exit,
    "log": _log,
    "programs": _programs,
    "driver": _driver,
    "outside": _outside,
}
"""In the order in which things happen: the first that failed is the nearest to the cause."""


def install_error(
    part: LockedPart, findings: Iterable[Finding], seen: Seen, link: str = ""
) -> StageError | None:
    """The error that failed findings make, with the cause where one is known; None where none failed."""
    wrong = failures(tuple(findings))
    if not wrong:
        return None
    code = number(seen.get("exit_code"))
    known = runfile_failure(_said(seen), code or 0) if "exit_code" in seen else None
    why = [f"{item.what}: seen {item.seen}, wanted {item.wanted or 'no error'}" for item in wrong]
    if known:
        why += [f"cause: {known[0].what}", f"source: {known[0].source}"]
    return StageError(
        "cuda-runfile-failed",
        f"the runfile of CUDA {part.version} did not install a whole toolkit",
        why=tuple(why),
        fix=known[0].fix if known else _FIXES.get(wrong[0].reference, _READ_LOG),
        evidence=tuple(filter(None, (known[1] if known else "", *_said(seen)[-20:]))),
        link=link,
    )


_READ_LOG = "Read the installer's own words above; what they name must be mended in the builder."
_FIXES = {
    "runfile-file": "Check where the runfile came from; `torchbuild lock` names its digest.",
    "runfile-space": "Free space where the build's workspace lies, then run the same command again.",
    "runfile-executable": "Mount the workspace's filesystem without noexec, or put the workspace elsewhere.",
    "runfile-left": "Remove what is named from the workspace: the user that builds has no right to.",
    "runfile-foreign-log": "Remove that log from the builder, or build where namespaces are allowed.",
}


def _said(seen: Seen) -> list[str]:
    """The output, then the logs."""
    logs = [_map(log) for log in _list(seen.get("logs"))]
    said = [*_list(seen.get("output")), *(line for log in logs for line in _list(log.get("tail")))]
    return [line[:_LINE] for line in said if isinstance(line, str)]


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
