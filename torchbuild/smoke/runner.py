"""One check, one process: whatever happens in it, here is what it comes to.

The process is a fork of one that never imported the subject, so nothing of one check is left for the next.
Its standard output is turned to standard error; its findings come back through a file without a name, so
that nothing the subject prints or leaves running gets in their way.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from typing import IO, Any, NamedTuple, Sequence, cast

from .subject import missing
from .verdict import Finding, failed, one_line, skipped

__all__ = ["Outcome", "reference_of", "run_check"]

_SET_PARENT_DEATH_SIGNAL = 1
_POLL_S = 0.01


class Outcome(NamedTuple):
    """What came of one check."""

    name: str
    """The check's NAME."""
    seconds: float
    """Wall time, with the import of the subject."""
    ended: str
    """How its process ended: ``exit 0``, ``signal 6 (SIGABRT)`` or ``time limit``."""
    findings: list[Finding]
    """At least one."""


def reference_of(name: str) -> str:
    """The reference of a check's findings."""
    return "smoke-" + name.replace("_", "-")


def run_check(check: Any, package: str, timeout_s: float) -> Outcome:
    """Run `check` on `package` in a process of its own, killed with all it started after `timeout_s`."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as results:
        parent, begin = os.getpid(), time.monotonic()
        child = os.fork()
        if child == 0:
            _become_child(parent)
            _write(results, _perform(check, package))
            raise SystemExit(0)  # the ordinary way out: a library that crashes at exit must be seen to
        status = _wait(child, timeout_s)
        _kill_group(child)
        seconds = time.monotonic() - begin
        results.seek(0)
        findings = _read(results.read())
    ended = "time limit" if status is None else _ended(status)
    reference = reference_of(check.NAME)
    if ended != "exit 0":
        what = "the process did not end well{}".format(" after its check" if findings else "")
        wanted = "exit 0 within {:g} s".format(timeout_s)
        findings.append(failed(reference, what, "{} after {:.1f} s".format(ended, seconds), wanted))
    elif not findings:
        findings.append(failed(reference, "the process ended without a word", ended, "findings"))
    return Outcome(check.NAME, round(seconds, 3), ended, findings)


def _become_child(parent: int) -> None:
    os.setsid()
    try:
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    except (OSError, AttributeError):
        pass
    if os.getppid() != parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)


def _perform(check: Any, package: str) -> list[Finding]:
    """The check's findings, or the one that says why there are none."""
    reference = reference_of(check.NAME)
    try:
        subject = importlib.import_module(package)
    except BaseException as error:
        return [failed(reference, "{} does not import".format(package), one_line(error), "an import")]
    try:
        lacking = missing(subject, check.NEEDS)
        if lacking:
            return [skipped(reference, "{} has no {}".format(package, ", ".join(lacking)))]
        return list(check.run(subject))
    except BaseException as error:
        return [failed(reference, "the check ended in an exception", one_line(error), "an answer")]


def _write(results: IO[bytes], findings: Sequence[Finding]) -> None:
    results.write(json.dumps(findings).encode("ascii"))
    results.flush()


def _read(content: bytes) -> list[Finding]:
    """The findings; none where the process died before or while it wrote them."""
    try:
        found = json.loads(content.decode("ascii"))
    except ValueError:
        return []
    return cast("list[Finding]", found) if isinstance(found, list) else []


def _wait(child: int, timeout_s: float) -> int | None:
    """The child's wait status; None where the time was over first, and then it is dead."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(_POLL_S)
    _kill_group(child)
    os.waitpid(child, 0)
    return None


def _kill_group(child: int) -> None:
    """End whatever is left of the child and of what it started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        names = {int(known): known.name for known in signal.Signals}
        return "signal {} ({})".format(number, names.get(number, "unnamed"))
    return "exit {}".format(os.WEXITSTATUS(status))
