"""Processes: everything they print, their true end, and nothing left of them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import torchbuild
from torchbuild.edges.process import TAIL_LINES, capture, run_process
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.context import Completed

PATH = {"PATH": "/usr/bin:/bin"}
PACKAGE_ROOT = Path(torchbuild.__file__).parent.parent


def shell(script: str, tmp_path: Path, **options: object) -> Completed:
    """Run a constant script with the real shell."""
    return run_process(["/bin/sh", "-c", script], environ=PATH, log=tmp_path / "log", **options)  # type: ignore[arg-type]


class Life:
    """A named pipe that tells when a process has begun, and when all that hold it open have ended."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def has_begun(self) -> bool:
        """Whether a process wrote into it; waits ten seconds for that."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(10_000)) and os.read(self._reader, 100) == b"up\n"

    def has_ended(self) -> bool:
        """Whether there was a process and none is left; waits ten seconds for that."""
        poll = select.poll()
        poll.register(self._reader, 0)
        return bool(poll.poll(10_000))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._reader)


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A fresh one."""
    life = Life(tmp_path / "life")
    yield life
    life.close()


@pytest.mark.parametrize("code", [0, 1, 2, 125, 255])
def test_exit_code_is_the_programs_own(code: int, tmp_path: Path) -> None:
    """A program's exit code reaches the caller as it was, also those that other tools reserve."""
    assert shell(f"exit {code}", tmp_path).exit_code == code


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV], ids=lambda number: number.name
)
def test_signal_is_told_as_a_shell_tells_it(number: signal.Signals, tmp_path: Path) -> None:
    """A program that a signal ends has the exit code 128 plus the signal's number."""
    assert shell(f"kill -{int(number)} $$", tmp_path).exit_code == 128 + number


def test_log_holds_both_streams_in_order(tmp_path: Path) -> None:
    """The log holds stdout and stderr in the order in which they were written, nothing missing."""
    shell("i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done", tmp_path)
    expected = "".join(f"out {i}\nerr {i}\n" for i in range(300))
    assert (tmp_path / "log").read_text() == expected


def test_log_keeps_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 stay as they are in the log, and are replaced in what is shown."""
    done = shell(r"printf 'a\377b\n'", tmp_path)
    assert ((tmp_path / "log").read_bytes(), done.tail) == (b"a\xffb\n", ("a\ufffdb",))


def test_lines_arrive_in_order(tmp_path: Path) -> None:
    """Whoever watches gets every line, a progress display's too, and the last one without an end."""
    lines: list[str] = []
    shell(r"printf 'one\r\n10%%\r20%%\r\n\nlast'", tmp_path, on_line=lines.append)
    assert lines == ["one", "10%", "20%", "", "last"]


def test_tail_is_the_last_lines(tmp_path: Path) -> None:
    """The tail holds the last 200 lines, oldest first."""
    done = shell("seq 1 1000", tmp_path)
    assert done.tail == tuple(str(number) for number in range(1001 - TAIL_LINES, 1001))


def test_append_keeps_what_was_there(tmp_path: Path) -> None:
    """A stage of several commands keeps one log."""
    shell("echo first", tmp_path)
    shell("echo second", tmp_path, append=True)
    assert (tmp_path / "log").read_text() == "first\nsecond\n"


def test_log_starts_anew_without_append(tmp_path: Path) -> None:
    """A command that is run again does not keep the earlier run's words."""
    shell("echo first", tmp_path)
    shell("echo second", tmp_path)
    assert (tmp_path / "log").read_text() == "second\n"


def test_environment_is_complete(tmp_path: Path) -> None:
    """A program sees exactly the variables it is given, none of the caller's."""
    done = run_process(["/usr/bin/env", "-0"], environ={"A": "x y\n=é"}, log=tmp_path / "log")
    assert ((tmp_path / "log").read_text(), done.exit_code) == ("A=x y\n=é\0", 0)


def test_no_standard_input(tmp_path: Path) -> None:
    """A program that asks a question gets an end of file instead of waiting for ever."""
    assert shell("cat", tmp_path).exit_code == 0


def test_memory_is_constant(tmp_path: Path) -> None:
    """A log of many megabytes, without a single line end, is not kept in memory."""
    tracemalloc.start()
    try:
        shell("head -c 30000000 /dev/zero", tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000


def test_background_child_ends_with_its_group(life: Life, tmp_path: Path) -> None:
    """What a program leaves running in its group is killed when the program ends."""
    shell(f"exec 3>{life.path}; sleep 1000 &", tmp_path)
    assert life.has_ended()


def test_child_that_keeps_the_output_open_detains_nobody(tmp_path: Path) -> None:
    """A daemon that left the group and holds the output open does not make the caller wait for it."""
    started = time.monotonic()
    done = shell("setsid sleep 20 & echo ready", tmp_path)
    assert (done.tail, time.monotonic() - started < 15) == (("ready",), True)


def test_exception_of_the_watcher_ends_the_group(life: Life, tmp_path: Path) -> None:
    """Where the caller fails while it watches, the program and its children do not go on."""

    class Stop(Exception):  # noqa: N818
        pass

    def stop(_: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        shell(f"exec 3>{life.path}; sleep 1000 & echo go; wait", tmp_path, on_line=stop)
    assert life.has_ended()


def test_group_that_ignores_the_polite_signal_is_killed(life: Life, tmp_path: Path) -> None:
    """A program that ignores SIGTERM has its grace, and then ends all the same."""

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    script = f"trap '' TERM; exec 3>{life.path}; echo go; while :; do sleep 1000; done"
    with pytest.raises(KeyboardInterrupt):
        shell(script, tmp_path, on_line=stop, grace_s=0.1)
    assert life.has_ended()


def test_interrupt_ends_the_group(life: Life, tmp_path: Path) -> None:
    """Ctrl-C in the caller ends the program with all its children."""
    driver = (
        "import sys; from pathlib import Path; from torchbuild.edges.process import run_process\n"
        "run_process(['/bin/sh', '-c', f'exec >{sys.argv[1]}; echo up; sleep 1000'],"
        " environ={'PATH': '/bin:/usr/bin'}, log=Path(sys.argv[2]))"
    )
    argv = [sys.executable, "-c", driver, str(life.path), str(tmp_path / "log")]
    with subprocess.Popen(argv, env={"PYTHONPATH": str(PACKAGE_ROOT)}, stderr=subprocess.PIPE) as caller:
        begun = life.has_begun()
        caller.send_signal(signal.SIGINT)
        _, err = caller.communicate()
    assert (begun, life.has_ended(), b"KeyboardInterrupt" in err) == (True, True, True)


@pytest.mark.parametrize(
    ("argv", "cwd", "reference"),
    [
        pytest.param(["/no/such/program"], None, "program-missing", id="no program"),
        pytest.param(["/etc/passwd"], None, "program-not-started", id="no executable"),
        pytest.param(["/bin/true"], "/no/such/directory", "directory-missing", id="no directory"),
        pytest.param(["/bin/true", "a\0b"], None, "program-not-started", id="a null byte"),
    ],
)
def test_what_prevents_a_start_is_named(
    argv: list[str], cwd: str | None, reference: str, tmp_path: Path
) -> None:
    """A program that cannot even start is the machine's error, and says which thing is missing."""
    with pytest.raises(HostError) as caught:
        run_process(argv, environ={}, cwd=cwd, log=tmp_path / "log")
    assert caught.value.reference == reference


def test_full_disk_under_the_log_is_named() -> None:
    """A log that no longer fits ends the program and says that the disk is full."""
    with pytest.raises(HostError) as caught:
        run_process(["/usr/bin/yes"], environ={}, log=Path("/dev/full"))
    assert caught.value.reference == "disk-full"


def test_capture_gives_stdout_only() -> None:
    """A short query's answer is its stdout, without its warnings."""
    assert capture(["/bin/sh", "-c", "echo yes; echo no >&2"], environ=PATH) == "yes\n"


def test_capture_failure_shows_the_programs_own_words() -> None:
    """A query that fails shows what the program said."""
    with pytest.raises(HostError) as caught:
        capture(["/bin/sh", "-c", "echo because >&2; exit 3"], environ=PATH)
    assert (caught.value.reference, caught.value.evidence) == ("query-failed", ("because",))


def test_capture_stops_waiting() -> None:
    """A query that hangs is killed after its time, with its children."""
    started = time.monotonic()
    with pytest.raises(HostError) as caught:
        capture(["/bin/sh", "-c", "sleep 1000 & wait"], environ=PATH, timeout_s=0.2)
    assert (caught.value.reference, time.monotonic() - started < 15) == ("query-failed", True)


RACE = """
import os, signal, subprocess, sys
from pathlib import Path
from torchbuild.edges.process import run_process
number = int(sys.argv[1])
def stop(*_):
    raise KeyboardInterrupt
signal.signal(number, stop)
start = subprocess.Popen._execute_child
def forked(self, *arguments):
    start(self, *arguments)
    os.kill(os.getpid(), number)  # the instant between fork and the caller's knowing of it
    for _ in range(1000):
        pass
subprocess.Popen._execute_child = forked
script = f": {sys.argv[2]}; sleep 1000; :"
run_process(["/bin/sh", "-c", script], environ={"PATH": "/bin:/usr/bin"}, log=Path(sys.argv[3]))
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_signal_at_the_fork_ends_the_child(number: signal.Signals, tmp_path: Path) -> None:
    """A signal that arrives before the caller knows of its child still ends the child."""
    marker = str(tmp_path / "marker")
    argv = [sys.executable, "-c", RACE, str(int(number)), marker, str(tmp_path / "log")]
    done = subprocess.run(argv, env={"PYTHONPATH": str(PACKAGE_ROOT)}, capture_output=True, check=False)
    assert (b"KeyboardInterrupt" in done.stderr, processes_with(marker)) == (True, [])


def processes_with(marker: str) -> list[str]:
    """Numbers of the processes that have it on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found
