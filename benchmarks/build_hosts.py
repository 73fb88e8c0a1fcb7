"""Machines that compile for this one, as network namespaces of it, with link, address and daemon each."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["BuildHost", "build_hosts", "free_port", "icecream_hosts", "until", "why_none"]

_PORT = 3632
_COMPILED = re.compile(r"COMPILE_OK|Remote compilation completed with exit code 0|Finishing with overlay")
_NETWORK = "198.18"
"""Kept for benchmarks of networks (RFC 2544): nobody's own addresses."""
_PROGRAMS = ("ip", "distcc", "distccd")


def why_none(*programs: str) -> str:
    """Why there can be none here, with these programs beside distcc's; empty where there can."""
    if os.geteuid() != 0:
        return "network namespaces with links between them need root"
    missing = [name for name in (*_PROGRAMS, *programs) if shutil.which(name) is None]
    if missing:
        return f"missing: {', '.join(missing)}"
    name = f"tbw{os.getpid()}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        subprocess.run(["ip", "netns", "delete", name], check=True)
    return tried.stderr.strip()


class BuildHost:
    """One of them."""

    def __init__(self, number: int, folder: Path, slots: int) -> None:
        """Make namespace and link.

        Args:
            number: unique on this machine, below 65536.
            folder: for its daemon's log.
            slots: compiles that its daemon does at once.
        """
        self._name, self._slots = f"tbn{number}", slots
        self.log = folder / f"{self._name}.log"
        subnet = f"{_NETWORK}.{number >> 6}"
        low = (number & 63) << 2
        self.address = f"{subnet}.{low + 2}"
        """Its own, seen from here."""
        self._daemon: subprocess.Popen[bytes] | None = None
        _ip("netns", "add", self._name)
        try:
            _ip("link", "add", self._name, "type", "veth", "peer", "name", "eth0", "netns", self._name)
            _ip("address", "add", f"{subnet}.{low + 1}/30", "dev", self._name)
            _ip("link", "set", self._name, "up")
            _ip("-netns", self._name, "address", "add", f"{self.address}/30", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-netns", self._name, "link", "set", device, "up")
        except BaseException:
            self.remove()
            raise

    @property
    def endpoint(self) -> str:
        """``HOST:PORT``."""
        return f"{self.address}:{_PORT}"

    @property
    def gateway(self) -> str:
        """The address of this machine, seen from there."""
        return self.address.rpartition(".")[0] + f".{int(self.address.rpartition('.')[2]) - 1}"

    def start_icecream(self, port: int, folder: Path) -> None:
        """Start icecream's daemon instead.

        Args:
            port: of the scheduler, on this machine.
            folder: for what it unpacks, with a ``stat`` that stands there for the processors' times.
        """
        idle, mine, scheduler = folder / "stat", folder / self._name, f"{self.gateway}:{port}"
        mine.mkdir()
        mine.chmod(0o777)
        daemon = f"iceccd -n tb{port} -s {scheduler} -m {self._slots} -N {self._name} -b {mine}/base"
        daemon += f" -l {mine}/log -vvv"
        script = f"mount --bind {idle} /proc/stat && exec env ICECC_TEST_SOCKET={mine}/socket {daemon}"
        self.log = mine / "log"
        self._daemon = subprocess.Popen(
            ["ip", "netns", "exec", self._name, "sh", "-c", script], start_new_session=True
        )

    def start_program(self, *argv: str | Path, **environ: str) -> None:
        """Start another daemon instead.

        Args:
            argv: the command.
            environ: what it is to have beside a path.
        """
        with self.log.open("ab") as log:
            self._daemon = subprocess.Popen(
                ["ip", "netns", "exec", self._name, *argv],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", **environ},
            )

    def start(self, *, instead: tuple[Path, Path] | None = None) -> None:
        """Start its daemon, and wait until it listens.

        Args:
            instead: a program, and one of this machine in whose place it stands there.
        """
        argv = ["distccd", "--no-detach", "--daemon", "--allow", f"{_NETWORK}.0.0/15", "--log-stderr"]
        argv += ["--listen", self.address, "--jobs", str(self._slots), "--log-level", "info"]
        lay = f"mount --bind {instead[0]} {instead[1]} && " if instead else ""
        script = f'{lay}exec "$@"'
        with self.log.open("ab") as log:
            self._daemon = subprocess.Popen(
                ["ip", "netns", "exec", self._name, "sh", "-c", script, "sh", *argv],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
            )
        self._await_listening()

    def _await_listening(self) -> None:
        """By its own tables; there is no event to wait for, so it is asked again until it has happened."""
        wanted = f":{_PORT:04X} "
        while self._daemon is not None and self._daemon.poll() is None:
            if wanted in _ip_text("netns", "exec", self._name, "cat", "/proc/net/tcp"):
                return
        raise RuntimeError(f"the daemon of {self._name} ended: {self.log.read_text(encoding='utf-8')}")

    def compiled(self) -> int:
        """Compiles that its daemon says it has done."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return len(_COMPILED.findall(text))

    def kill(self) -> None:
        """End daemon and compilers at once, as a machine that loses its power does for who is connected."""
        if self._daemon is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._daemon.pid, signal.SIGKILL)
            for pid in _ip_text("netns", "pids", self._name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            self._daemon.wait()
            self._daemon = None

    def remove(self) -> None:
        """Leave nothing of it."""
        self.kill()
        subprocess.run(["ip", "link", "delete", self._name], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", self._name], capture_output=True, check=False)


@contextlib.contextmanager
def icecream_hosts(count: int, *, slots: int = 2) -> Iterator[tuple[int, tuple[BuildHost, ...]]]:
    """So many that a scheduler knows, and its port.

    A daemon takes nothing while its processors are busy, and theirs are those of this machine: they are told
    that theirs are idle.
    """
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)  # daemon and scheduler are another user
    stat, log, over = folder / "stat", folder / "scheduler.log", threading.Event()
    port = free_port()
    threading.Thread(target=_be_idle, args=(stat, over), daemon=True).start()
    argv = ["icecc-scheduler", "-p", str(port), "-l", str(log), "-n", f"tb{port}", "-vvv"]
    with build_hosts(count, folder, slots=slots) as hosts, subprocess.Popen(argv) as scheduler:
        try:
            until(lambda: stat.exists() and log.exists())
            for host in hosts:
                host.start_icecream(port, folder)
            until(lambda: log.read_text(errors="replace").count("login tbn") >= count)
            yield port, hosts
        finally:
            over.set()
            scheduler.kill()
            shutil.rmtree(folder, ignore_errors=True)


def _be_idle(stat: Path, over: threading.Event) -> None:
    """Times of a processor that does nothing, further and further."""
    ticks = 0
    while not over.wait(0.1):
        ticks += 20
        stat.write_text(f"cpu  1 0 1 {ticks} 0 0 0 0 0 0\ncpu0 1 0 1 {ticks} 0 0 0 0 0 0\n", encoding="ascii")


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until(happened: Callable[[], bool], seconds: float = 60) -> None:
    """Look until it has happened.

    Raises:
        TimeoutError: it never did.
    """
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError
        select.select([], [], [], 0.02)


@contextlib.contextmanager
def build_hosts(count: int, folder: Path, *, slots: int = 2) -> Iterator[tuple[BuildHost, ...]]:
    """So many, not started yet; they are gone when the body ends."""
    first = (os.getpid() * 16) % 65536
    with contextlib.ExitStack() as stack:
        hosts = []
        for index in range(count):
            host = BuildHost((first + index) % 16384, folder, slots)
            stack.callback(host.remove)
            hosts.append(host)
        yield tuple(hosts)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _ip_text(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).stdout
