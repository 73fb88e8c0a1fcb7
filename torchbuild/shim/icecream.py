"""Icecream inside a build: the compilers packed, a daemon that compiles nothing, and what stands before both.

The client compiles here by itself where no other machine has room, or one broke off, and would ask nobody for
memory. So what it takes for the compiler only preprocesses, and refuses to compile: who asked the client
compiles then, admitted like all else.
"""

import contextlib
import glob
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional

__all__ = ["REFUSED", "Icecream"]

REFUSED = 113
"""Exit code of what would compile here."""
_PATIENCE_S = 40.0
_PACKING_S = 300
_MORE_PATH = ":/usr/sbin:/sbin"
_NEWUSER = 0x10000000
_NOBODY = 65534
_CONNECTED = "Connected to scheduler"
_ONLY_CPP = """#!/bin/sh
for word; do [ "$word" = -E ] && exec %s "$@"; done
echo "icecc ERROR: no machine of the pool takes it now" >&2
exit %d
"""
_AWAY = """#!/bin/sh
compiler=$1
case $compiler in /*) ;; *) compiler=$(command -v "$1") ;; esac
compiler=%s/only-cpp$compiler
[ -x "$compiler" ] || { echo "icecc ERROR: $1 is not packed" >&2; exit %d; }
shift
exec icecc "$compiler" "$@"
"""


class Icecream:
    """For as long as one command needs it."""

    def __init__(self, told: Dict[str, Any], tied: Optional[Callable[[], Any]] = None) -> None:
        """Nothing is started.

        Args:
            told: ``scheduler``, as ``HOST:PORT``; ``folder``, where everything lies; ``compilers``.
            tied: what makes a child end as soon as we do.
        """
        self._tied = tied
        self._scheduler, self._folder = str(told["scheduler"]), str(told["folder"])
        self._compilers = [str(compiler) for compiler in told["compilers"]]
        self._daemon: Optional[subprocess.Popen[bytes]] = None
        self._run = ""

    def start(self) -> str:
        """Pack the compilers, and wait until the scheduler knows us; why that cannot be, or nothing."""
        os.makedirs(self._folder, exist_ok=True)
        daemon = shutil.which("iceccd", path=os.environ.get("PATH", os.defpath) + _MORE_PATH)
        if daemon is None or shutil.which("icecc") is None:
            return "icecc and iceccd: not there, or no programs"
        why = self._pack()
        if why:
            return why
        self._lay()
        self._run = tempfile.mkdtemp(dir=self._folder)
        log = self._run + "/log"
        argv = [daemon, "-s", self._scheduler, "--no-remote", "-m", "0", "-b", self._run + "/base", "-l", log]
        environ = dict(os.environ, ICECC_TEST_SOCKET=self._folder + "/socket")
        with contextlib.suppress(OSError):
            os.unlink(self._folder + "/socket")
        try:
            self._daemon = subprocess.Popen(
                [*argv, "-vvv"],
                env=environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: _begin(self._tied),  # noqa: PLW1509  there are no threads yet
            )
        except (OSError, subprocess.SubprocessError) as error:
            return "iceccd cannot be started as an ordinary user: %s" % error
        return self._awaited(log)

    def stop(self) -> None:
        """End the daemon."""
        if self._daemon is not None:
            self._daemon.kill()
            self._daemon.wait()
            self._daemon = None
            shutil.rmtree(self._run, ignore_errors=True)

    def _pack(self) -> str:
        packed = self._folder + "/packed.tar.gz"
        if os.path.exists(packed):
            return ""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            argv = ["icecc", "--build-native", *self._compilers[:1]]
            try:
                done = subprocess.run(
                    argv,
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=_PACKING_S,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return str(error)
            made = glob.glob(folder + "/*.tar.*")
            if len(made) != 1:
                return (
                    "icecc --build-native packs nothing: %s"
                    % done.stdout.decode("utf-8", "replace")[-300:].strip()
                )
            os.replace(made[0], packed)
        return ""

    def _lay(self) -> None:
        """Each compiler by its whole path: another of the same name was not packed."""
        folder = self._folder + "/only-cpp"
        compilers = [path for path in map(shutil.which, self._compilers) if path]
        texts = {folder + path: _ONLY_CPP % (shlex.quote(path), REFUSED) for path in compilers}
        texts[self._folder + "/away"] = _AWAY % (shlex.quote(self._folder), REFUSED)
        for path, text in texts.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as handle:
                handle.write(text)
            os.chmod(path, 0o755)  # noqa: S103  as programs are

    def _awaited(self, log: str) -> str:
        end = time.monotonic() + _PATIENCE_S
        said: List[str] = []
        while time.monotonic() < end and self._daemon is not None and self._daemon.poll() is None:
            with contextlib.suppress(OSError), open(log, encoding="utf-8", errors="replace") as handle:
                said = handle.read().splitlines()
            if any(_CONNECTED in line for line in said):
                return ""
            time.sleep(0.05)
        self.stop()
        return "iceccd does not reach the scheduler %s: %s" % (
            self._scheduler,
            (said or ["it said nothing"])[-1],
        )


def _begin(tied: Optional[Callable[[], Any]]) -> None:
    """In the daemon, before it is one. Who becomes another is tied to nobody any more, so that comes last."""
    _be_nobody()
    if tied is not None:
        tied()


def _be_nobody() -> None:
    """Where we are root, look like somebody else to it, and stay who we are.

    As root it would become another user, whose calls the guard of a build may not look at: it refuses them.
    """
    if os.geteuid() != 0:
        return
    import ctypes

    group = os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (
        ("uid_map", "%d 0 1" % _NOBODY),
        ("setgroups", "deny"),
        ("gid_map", "%d %d 1" % (_NOBODY, group)),
    ):
        with open("/proc/self/" + name, "w", encoding="ascii") as handle:
            handle.write(text)
