"""What came of NVIDIA's installer, judged check by check: its exit code alone is never believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torchbuild.errors import StageError
from torchbuild.knowledge.runfile_failures import runfile_failure
from torchbuild.model.finding import Finding, Outcome, failures
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Check, Seen, Wanted, told

__all__ = ["CHECKS", "install_error"]

_GIB = 1 << 30


def _file(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A web page that was saved as an installer begins with no script."""
    file, size = _map(seen.get("file")), part.pieces[0].artifact.size if part.pieces else None
    is_right = file.get("begins") == "#!" and size in (None, file.get("size"))
    yield told(
        "runfile-file",
        f"the runfile {file.get('path', '')}",
        "passed" if is_right else "failed",
        seen=f"begins with {file.get('begins', '')!r}, {file.get('size', 0)} bytes",
        wanted="begins with '#!'" + (f", {size} bytes" if size is not None else ""),
    )


def _space(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Enough space, before the installer runs out of it without saying where."""
    for place in map(_map, _list(seen.get("space"))):
        free, need = _number(place.get("free")), _number(place.get("need"))
        yield told(
            "runfile-space",
            f"free space in {place.get('path', '')}",
            "passed" if free >= need else "failed",
            seen=f"{free / _GIB:.2f} GiB free",
            wanted=f"{need / _GIB:.2f} GiB",
        )


def _executable(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The installer unpacks itself and starts what it has unpacked."""
    refuses = str(seen.get("temp_refuses", ""))
    yield told(
        "runfile-executable",
        f"programs in the temporary folder {seen.get('temp', '')}",
        "failed" if refuses else "passed",
        seen=refuses or "start",
        wanted="start, not mounted noexec",
    )


def _left(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What an earlier try left, and what could not be removed, poisons this one."""
    left = [str(name) for name in _list(seen.get("left"))]
    yield told(
        "runfile-left",
        "remains of an earlier installation",
        "failed" if left else "passed",
        seen=", ".join(left) or "none",
        wanted="none",
    )


def _foreign(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A log of its name that belongs to somebody else makes the installer crash, if it sees it."""
    logs = [f"{log.get('path')} of user {log.get('owner')}" for log in map(_map, _list(seen.get("foreign")))]
    is_seen = bool(logs) and not seen.get("isolated")
    yield told(
        "runfile-foreign-log",
        "logs of other users in the installer's way",
        "failed" if is_seen else "passed",
        seen=", ".join(logs) if is_seen else "none",
        wanted=f"none, or of user {seen.get('user', '')}",
    )


def _isolation(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Its own /tmp and /var/log; a builder that has no right to mount says so."""
    is_alone = bool(seen.get("isolated"))
    yield told(
        "runfile-isolation",
        "the installer's /tmp and /var/log",
        "passed" if is_alone else "warned",
        seen="its own" if is_alone else f"the builder's: {seen.get('isolation_why', '')}",
        wanted="its own",
    )


def _exit(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What the installer itself says of its success."""
    if "exit_code" not in seen:
        hindered = ", ".join(map(str, _list(seen.get("hindered"))))
        yield told("runfile-exit", f"the installer was not started: {hindered}", "not run")
        return
    code = seen["exit_code"]
    late = ", after the time that it had was up" if seen.get("timed_out") else ""
    outcome: Outcome = "passed" if code == 0 and not late else "failed"
    yield told("runfile-exit", "the installer", outcome, seen=f"exit code {code}{late}", wanted="exit code 0")


def _log(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Its log has the cause of which its output says nothing; one that ended well is only told about."""
    if "exit_code" not in seen:
        yield told("runfile-log", "the installer was not started, and has no log", "not run")
        return
    logs = [_map(log) for log in _list(seen.get("logs"))]
    lines = [f"{log.get('path')}: {line}" for log in logs for line in _list(log.get("errors"))]
    where = ", ".join(str(log.get("path")) for log in logs) or "none was written"
    outcome: Outcome = "passed" if not lines else "warned" if seen["exit_code"] == 0 else "failed"
    yield told("runfile-log", f"the installer's log ({where})", outcome, seen="; ".join(lines), wanted="")


def _programs(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What a whole toolkit has: an installer that ended well may have left nothing."""
    programs = _map(seen.get("programs"))
    wrong = [f"{name}: {state}" for name, state in sorted(programs.items()) if state != "there"]
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
        yield told("runfile-driver", "the installer was not started", "not run")
        return
    touched = bool(seen["driver_touched"])
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
        yield told("runfile-outside", "the installer was not started", "not run")
        return
    paths = [str(path) for path in _list(seen["outside"])]
    yield told(
        "runfile-outside",
        "places of the builder that the installer changed",
        "warned" if paths else "passed",
        seen=", ".join(paths) or "none",
        wanted="none",
    )


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
    known = runfile_failure(_said(seen), _number(seen.get("exit_code"))) if "exit_code" in seen else None
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
    lines = [*_list(seen.get("output")), *(line for log in logs for line in _list(log.get("tail")))]
    return [str(line) for line in lines]


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
