"""The one place that starts processes: argv lists, complete environments, and nothing left alive."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from torchbuild.context import Completed
from torchbuild.edges.atomic import translated
from torchbuild.edges.lines import LineSplitter
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from io import FileIO
    from pathlib import Path

__all__ = ["GRACE_S", "TAIL_LINES", "attach", "capture", "run_process"]

TAIL_LINES = 200
"""Lines kept in `Completed.tail`."""

GRACE_S = 5.0
"""What a process group gets between SIGTERM and SIGKILL, to remove its half-written files."""

_CHUNK = 1 << 16
_MOST = 1 << 30
"""Bytes of a query's answer: what a machine's memory bears, and no program that we ask comes near."""
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path | str | None = None,
    environ: Mapping[str, str],
    log: Path,
    on_line: Callable[[str], None] | None = None,
    append: bool = False,
    pass_fds: tuple[int, ...] = (),
    grace_s: float = GRACE_S,
    during: Callable[[int], AbstractContextManager[object]] | None = None,
) -> Completed:
    """Run a program to its end, whatever its exit code, and keep everything it prints.

    stdout and stderr share one pipe, so the log holds them in the order they were written, byte for
    byte. What is still in the program's process group when it ends is killed; so is all of the group
    where this function is left by an exception, Ctrl-C included.

    Args:
        argv: program and arguments; no shell sees them.
        cwd: where it starts; None for the caller's directory.
        environ: every variable it sees.
        log: gets the bytes; its directory is made.
        on_line: gets each line, decoded with replacement; a carriage return ends a line too.
        append: keep what the log held before.
        pass_fds: further descriptors that the program inherits.
        grace_s: seconds between SIGTERM and SIGKILL where an exception ends the group.
        during: what is entered with the process id while the program runs.

    Raises:
        HostError: ``program-missing``, ``program-not-started``, ``directory-missing``, and for the log
            ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    started = time.monotonic()
    with (
        _log_file(log, append=append) as file,
        _group(
            argv, cwd=cwd, environ=environ, pass_fds=pass_fds, output=subprocess.STDOUT, grace_s=grace_s
        ) as process,
        contextlib.nullcontext() if during is None else during(process.pid),
    ):
        tail: deque[str] = deque(maxlen=TAIL_LINES)
        for line in _lines(process, file, log):
            tail.append(line)
            if on_line is not None:
                on_line(line)
    seconds = time.monotonic() - started
    return Completed(exit_code=_exit_code(process), seconds=seconds, tail=tuple(tail), log=log)


def _lines(process: subprocess.Popen[bytes], file: FileIO, log: Path) -> Iterator[str]:
    """What the process prints, line by line, after its bytes are in the log."""
    splitter = LineSplitter()
    for chunk in _chunks(process):
        with translated(log):
            _write_all(file, chunk)
        yield from splitter.feed(chunk)
    yield from splitter.end()


def capture(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    timeout_s: float = 60.0,
    pass_fds: tuple[int, ...] = (),
    grace_s: float = GRACE_S,
    most: int = _MOST,
    with_stderr: bool = False,
    until: int | None = None,
) -> str:
    """What a short query prints on stdout, decoded with replacement.

    Args:
        argv: program and arguments.
        environ: every variable it sees; None for the caller's own, where the query is about the machine.
        cwd: where it starts; None for the caller's directory.
        timeout_s: seconds after which it is killed.
        pass_fds: further descriptors that the program inherits.
        grace_s: seconds between SIGTERM and SIGKILL where it is killed.
        most: bytes that it may print; one that prints without end is killed.
        with_stderr: its stderr is part of the answer, in the order written.
        until: a descriptor; the program is killed once this can be read, or its other end is closed.

    Raises:
        HostError: ``query-failed`` where it ends with another code than 0, runs too long or prints too much
            (its stderr is the evidence), ``program-missing``, ``program-not-started``,
            ``directory-missing``.
    """
    variables = dict(os.environ) if environ is None else environ
    second = subprocess.STDOUT if with_stderr else subprocess.PIPE
    with _group(
        argv, cwd=cwd, environ=variables, output=second, pass_fds=pass_fds, grace_s=grace_s
    ) as process:
        try:
            out, err = _answer(process, timeout_s, most, until)
        except subprocess.TimeoutExpired as error:
            raise _query_failed(argv, f"no answer after {timeout_s:g} s", b"") from error
        except OverflowError as error:
            raise _query_failed(argv, f"more than {most} bytes of output", b"") from error
    if process.returncode != 0:
        raise _query_failed(argv, f"exit code {_exit_code(process)}", out if with_stderr else err)
    return out.decode(errors="replace")


def _answer(
    process: subprocess.Popen[bytes], timeout_s: float, most: int, until: int | None
) -> tuple[bytes, bytes]:
    """What it prints on stdout and stderr, to its end.

    Raises:
        TimeoutExpired: it took too long, or `until` came.
        OverflowError: it prints too much.
    """
    ends = time.monotonic() + timeout_s
    kept = {stream.fileno(): bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
    first, *_ = kept
    going = set(kept)
    while going:
        left = ends - time.monotonic()
        ready = _ready(*going, *(() if until is None else (until,)), timeout_s=max(0.0, left))
        if left <= 0 or until in ready:
            raise subprocess.TimeoutExpired(process.args, timeout_s)
        for number in ready:
            chunk = os.read(number, _CHUNK)
            kept[number] += chunk
            if not chunk:
                going.discard(number)
        if sum(map(len, kept.values())) > most:
            raise OverflowError(most)
    process.wait(timeout=max(0.0, ends - time.monotonic()))
    return bytes(kept.pop(first)), bytes(*kept.values())


def attach(
    argv: Sequence[str],
    *,
    cwd: Path | str | None = None,
    environ: Mapping[str, str],
    pass_fds: tuple[int, ...] = (),
) -> int:
    """Hand this process's own stdin, stdout and stderr to a program; its exit code.

    Ctrl-C belongs to the program while it runs: call this from the main thread.

    Raises:
        HostError: ``program-missing``, ``program-not-started``, ``directory-missing``.
    """
    # A handler and not SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        with _translated_start(argv, cwd):
            process = subprocess.Popen(argv, cwd=cwd, env=dict(environ), pass_fds=pass_fds)
        with process:
            process.wait()
        return _exit_code(process)
    finally:
        signal.signal(signal.SIGINT, before)


def _query_failed(argv: Sequence[str], seen: str, err: bytes) -> HostError:
    return HostError(
        "query-failed",
        f"{argv[0]}: a short query failed",
        why=(f"ran: {' '.join(argv)[:400]}", f"seen: {seen}", "wanted: an answer and exit code 0"),
        fix=f"Run `{' '.join(argv)[:400]}` by hand and mend what it reports.",
        evidence=tuple(err.decode(errors="replace").splitlines()[-TAIL_LINES:]),
    )


@contextlib.contextmanager
def _log_file(log: Path, *, append: bool) -> Iterator[FileIO]:
    with translated(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("ab" if append else "wb", buffering=0)
    with file:
        yield file


def _write_all(file: FileIO, chunk: bytes) -> None:
    """An unbuffered file may take a part only, where the disk is nearly full."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


@contextlib.contextmanager
def _group(
    argv: Sequence[str],
    *,
    cwd: Path | str | None,
    environ: Mapping[str, str],
    output: int,
    pass_fds: tuple[int, ...],
    grace_s: float = GRACE_S,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a session of its own; nothing of its process group outlives the body."""
    with contextlib.ExitStack() as cleanup:
        with _translated_start(argv, cwd), _interrupt_deferred():
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                pass_fds=pass_fds,
            )
            cleanup.push(lambda kind, *_: _end(process, grace_s if kind else None))
        yield process


def _end(process: subprocess.Popen[bytes], grace_s: float | None) -> None:
    """End what is left of the group: at once, or with a time of grace."""
    try:
        if grace_s is not None:
            _signal_group(process, signal.SIGTERM)
            _await_end(process, grace_s)
    finally:
        # The leader is not reaped before this: its number still names this group and no other.
        _signal_group(process, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def _interrupt_deferred() -> Iterator[None]:
    """Let signals that we handle wait for the body: between fork and return nobody would know the child yet.

    A handler of ours and not a blocked or ignored signal, because a child inherits those. A signal without
    a handler ends us at once, as ever: executors see to it that their commands then end too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in _INTERRUPTS}
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def _translated_start(argv: Sequence[str], cwd: Path | str | None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        if cwd is not None and str(getattr(error, "filename", None)) == str(cwd):
            raise HostError(
                "directory-missing",
                f"{cwd}: {argv[0]} cannot start there",
                why=(f"seen: {error}", "wanted: a directory that this user may enter"),
                fix=f"Make the directory {cwd}, or run the stage again that makes it.",
            ) from error
        if isinstance(error, FileNotFoundError):
            raise HostError(
                "program-missing",
                f"{argv[0]}: no such program",
                why=(f"seen: {error}", "wanted: a program that can be started"),
                fix=f"Install {argv[0]}, or put it on PATH.",
            ) from error
        raise HostError(
            "program-not-started",
            f"{argv[0]}: the operating system would not start it",
            why=(f"seen: {error}", "wanted: a program that this user may start"),
            fix=f"Check the permissions and the format of {argv[0]}.",
        ) from error


def _chunks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What the process prints until it ends, also where a child of it keeps the pipe open."""
    if process.stdout is None:
        return
    pipe = process.stdout.fileno()
    with _descriptor(os.pidfd_open(process.pid)) as ended:
        while pipe in _ready(pipe, ended):
            chunk = os.read(pipe, _CHUNK)
            if not chunk:
                break
            yield chunk
            if _ready(ended, timeout_s=0):
                break
        _ready(ended)
    _signal_group(process, signal.SIGKILL)
    yield from _left_over(pipe)


def _left_over(pipe: int) -> Iterator[bytes]:
    """What lies in the pipe now: never more than it can hold, so that no stray writer detains us."""
    left = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    os.set_blocking(pipe, False)
    while left > 0:
        try:
            chunk = os.read(pipe, left)
        except BlockingIOError:
            return
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _ready(*descriptors: int, timeout_s: float | None = None) -> set[int]:
    """Those that can be read now, or have ended; waits until there is one, or so many seconds."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {number for number, _ in poll.poll(None if timeout_s is None else timeout_s * 1000)}


@contextlib.contextmanager
def _descriptor(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)


def _await_end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait until the process has ended, without taking its number away; at most so many seconds."""
    if process.returncode is None:
        with _descriptor(os.pidfd_open(process.pid)) as ended:
            _ready(ended, timeout_s=timeout_s)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal all of the group, as long as the leader's number is still its own."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    code = process.wait()
    return 128 - code if code < 0 else code
