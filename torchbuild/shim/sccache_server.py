"""One server of sccache, on a socket of our own: started, asked, ended."""

import contextlib
import os
import subprocess
import time
from typing import Any, Callable, Dict, Optional

__all__ = ["SccacheServer"]

_STARTS_S = 20.0
_POLL_S = 0.05
_ENDS_S = 30.0


class SccacheServer:
    """Not started yet.

    Args:
        program: sccache.
        socket: where it listens; a short path.
        errors: its log.
    """

    def __init__(self, program: str, socket: str, errors: str) -> None:
        self._program, self._errors = program, errors
        self.socket = socket
        """Where its clients find it."""
        self._process: Optional["subprocess.Popen[bytes]"] = None

    @property
    def pid(self) -> int:
        """Its process; 0 where none runs."""
        return self._process.pid if self._process is not None else 0

    @property
    def is_alive(self) -> bool:
        """Whether that process still runs: where it was killed, its clients start another."""
        return self._process is not None and self._process.poll() is None

    def start(self, environ: Dict[str, str], tied: Optional[Callable[[], Any]]) -> bool:
        """Whether it listens now.

        Args:
            environ: all that it is to have; socket and log are added.
            tied: what makes a child end as soon as we do.
        """
        told = dict(environ, SCCACHE_SERVER_UDS=self.socket, SCCACHE_ERROR_LOG=self._errors)
        told.update(SCCACHE_IDLE_TIMEOUT="0", SCCACHE_START_SERVER="1", SCCACHE_NO_DAEMON="1")
        with contextlib.suppress(OSError):
            os.unlink(self.socket)
        with open(os.devnull, "r+b") as nothing:
            try:
                server = subprocess.Popen(
                    [self._program],
                    env=told,
                    stdin=nothing,
                    stdout=nothing,
                    stderr=nothing,
                    preexec_fn=lambda: _begin(tied),  # noqa: PLW1509  no threads yet
                )
            except OSError:
                return False
        until = time.monotonic() + _STARTS_S
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_POLL_S)
                return False
            if os.path.exists(self.socket):
                self._process = server
                return True
        server.kill()
        server.wait()
        return False

    def ask(self, *words: str) -> str:
        """What it answers; empty where it does not."""
        environ = dict(os.environ, SCCACHE_SERVER_UDS=self.socket, SCCACHE_CONF=os.devnull)
        if not os.path.exists(self.socket):  # asked without one, it would start another
            return ""
        try:
            done = subprocess.run(
                [self._program, *words],
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=_ENDS_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def stop(self) -> None:
        """End it as it likes to be ended, and else at once."""
        self.ask("--stop-server")
        if self._process is not None:
            try:
                self._process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _begin(tied: Optional[Callable[[], Any]]) -> None:
    """In the server, before it is one: what it starts is a likelier victim of the kernel than ninja."""
    if tied is not None:
        tied()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("500")
