"""A server of our own for sccache, for one build: on its own socket, counted alone, ended with the build.

Its server starts the compilers, so nobody can be put before them from outside. What it takes for the compiler
is a script of ours, ``BEHIND/usr/bin/c++``, whose interpreter is ``launch`` (see ``launch.c``): it asks the
supervisor and runs the real one. Its text names the digest of the compiler's programs, since the cache tells
compilers apart by the bytes of what it starts.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, TextIO

from .cache import Entry
from .sccache_server import SccacheServer

__all__ = ["Sccache", "compilers_of"]

_COMPILER = re.compile(r"CMAKE_(C|CXX|CUDA)_COMPILER")
_PROGRAMS = ("cc1", "cc1plus", "as")
"""What a driver starts for C and C++."""
_POLL_S = 0.05
_WRITES_S = 15.0
_MOST_DIRS = 16
_LONGEST = 300


def compilers_of(entries: Dict[str, Entry]) -> List[str]:
    """Absolute paths of the compilers that CMake chose."""
    found = (entry.value for key, entry in entries.items() if _COMPILER.fullmatch(key))
    return sorted({path for path in found if path.startswith("/")})


class Sccache:
    """One server.

    Args:
        program: sccache.
        folder: short, our own, removed by whoever made it: there are socket and error log.
        place: where stand-ins for compilers are laid, at the same path in every workspace.
        launcher: their interpreter.
        compilers: absolute paths.
    """

    def __init__(self, program: str, folder: str, place: str, launcher: str, compilers: List[str]) -> None:
        self._program, self._place = program, place
        self._errors = os.path.join(folder, "sccache.log")
        self._server = SccacheServer(program, os.path.join(folder, "sccache"), self._errors)
        self._calls = os.path.join(folder, "sccache-calls")
        self._lock: Optional[TextIO] = None
        self._backend = ""
        """Why the backend is not used."""
        self._is_beside = False
        """Whether another build's server has the directory, so that this one has the next."""
        for compiler in compilers:
            _stand_in(place + compiler, launcher, compiler)

    @property
    def pid(self) -> int:
        """The server's; 0 where none runs."""
        return self._server.pid

    def start(self, remote: Dict[str, str], tied: Optional[Callable[[], Any]]) -> Dict[str, str]:
        """Start the server; what ninja, and all below it, must have in its environment; empty: none runs.

        Args:
            remote: variables of a backend, which may hold secrets: for the server alone.
            tied: what makes a child end as soon as we do.
        """
        environ = dict(os.environ, SCCACHE_CONF=os.devnull, SCCACHE_LOG="error")
        environ["SCCACHE_DIR"] = self._free(os.environ.get("SCCACHE_DIR") or self._errors + ".d")
        environ["SCCACHE_MULTILEVEL_WRITE_ERROR_POLICY"] = (
            "all"  # what is counted as written is so everywhere
        )
        if remote and not self._server.start(dict(environ, **remote), tied):
            self._backend = self._said(remote) or "it does not answer"
        if not self._server.pid and not self._server.start(environ, tied):
            return {}
        with open(self._calls, "w", encoding="utf-8"):
            pass
        return {
            "SCCACHE_SERVER_UDS": self._server.socket,
            "SCCACHE_CONF": os.devnull,
            "SCCACHE_DIR": environ["SCCACHE_DIR"],
            # a server that is killed fails no compilation, and one that a client starts then does not stay
            "SCCACHE_IGNORE_SERVER_IO_ERROR": "1",
            "SCCACHE_IDLE_TIMEOUT": "30",
            "TORCHBUILD_CACHE": self._program,
            "TORCHBUILD_BEHIND": self._place,
            "TORCHBUILD_CALLS": self._calls,
        }

    def stop(self, asked: Set[str], statslog: Optional[str]) -> Dict[str, Any]:
        """End it, whatever state it is in; what it counted, and why its backend was not used.

        Args:
            asked: outputs, absolute, for which a compiler ran.
            statslog: gets the source of each call and a word, as ccache's has it.
        """
        stats = self._counted() if self._server.is_alive else {}  # of one that was killed, all is lost
        self._server.stop()
        if self._lock is not None:
            self._lock.close()
        if statslog is not None:
            with open(statslog, "a", encoding="utf-8") as handle:
                handle.writelines(_words(self._calls, asked))
        told = {"cache": stats, "backend": self._backend, "served": bool(stats)}
        return {**told, "beside": True} if self._is_beside else told

    def _counted(self) -> Dict[str, Any]:
        """What it counted, once it has kept what was compiled: it answers first, and writes then."""
        until = time.monotonic() + _WRITES_S
        while True:
            try:
                said = dict(json.loads(self._server.ask("--show-stats", "--stats-format=json")))
                left = _unwritten(said["stats"])
            except (ValueError, TypeError, KeyError):
                return {}
            if not left or time.monotonic() > until:
                return said
            time.sleep(_POLL_S)

    def _free(self, wanted: str) -> str:
        """The directory, or one beside it where another build's server has it: each is for one at a time."""
        for number in range(1, _MOST_DIRS):
            folder = wanted if number == 1 else "%s-%d" % (wanted, number)
            try:
                os.makedirs(folder, exist_ok=True)
                handle = open(folder + ".lock", "w", encoding="utf-8")
            except OSError:
                return folder
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.close()
                continue
            self._lock, self._is_beside = handle, number > 1
            return folder
        return wanted

    def _said(self, remote: Dict[str, str]) -> str:
        """The first line of its error log that tells something, without the backend's words in it."""
        try:
            with open(self._errors, encoding="utf-8", errors="replace") as handle:
                text = handle.read(65536)
        except OSError:
            return ""
        found = re.search(r"(?:read|write|stat|check) failed[^\n]*? => ([^\n]+)", text)
        said = found.group(1).strip()[:_LONGEST] if found else ""
        for value in remote.values():
            said = said.replace(value, "...")
        return said


def _unwritten(stats: Dict[str, Any]) -> int:
    missed = sum(dict(stats["cache_misses"]["counts"]).values())
    return max(0, int(missed - stats["cache_writes"] - stats["cache_write_errors"]))


def _stand_in(path: str, launcher: str, compiler: str) -> None:
    """A script that is the same in every workspace for the same programs behind it."""
    text = "#!%s\n# %s\n" % (launcher, _identity(compiler))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as handle:
        handle.write(text)
    os.chmod(path + ".tmp", 0o755)  # noqa: S103  as programs are
    os.replace(path + ".tmp", path)


def _identity(compiler: str) -> str:
    digest = hashlib.sha256()
    for path in _files(compiler):
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
        with contextlib.suppress(OSError), open(path, "rb") as handle:
            for block in iter(lambda: handle.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()


def _files(compiler: str) -> Iterator[str]:
    """The driver, and what it starts: it stays the same where only those are replaced."""
    yield compiler
    if os.path.basename(compiler).startswith("nvcc"):  # the server itself starts, and tells apart, its steps
        return
    for name in _PROGRAMS:
        try:
            done = subprocess.run(
                [compiler, "-print-prog-name=" + name],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        path = done.stdout.decode("utf-8", "replace").strip()
        found = shutil.which(path)
        if found:
            yield os.path.realpath(found)


def _words(calls: str, asked: Set[str]) -> Iterator[str]:
    """Of a device compiler's calls nobody knows; of others, that the compiler ran is a miss."""
    try:
        with open(calls, encoding="utf-8", errors="replace") as handle:
            lines = handle.read().split("\n")
    except OSError:
        return
    for line in lines:
        folder, _, rest = line.partition("\t")
        output, _, source = rest.partition("\t")
        if source:
            name = os.path.join(folder, output)
            word = "cache_miss" if name in asked else "cache_hit"
            yield "# %s\n%s\n" % (source, "unknown" if source.endswith(".cu") else word)
