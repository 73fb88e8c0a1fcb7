"""Sccache-dist inside a build: the compilers packed, a server of our own, and no compile here.

Sccache compiles here by itself where its scheduler, or a machine, does not, and would ask nobody for memory;
where the scheduler refuses our token, the compile even fails. So what it takes for the compiler is a script
that only preprocesses and refuses to compile: who asked compiles then, admitted like all else. Nothing is
cached by this server: what a compiler cache has never comes here.

The token is in the server's memory, and in a file that only we may read until the server has read it.
"""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
from typing import Any, Callable, Dict, List, Optional

from .sccache_server import SccacheServer
from .socket_folder import short_folder

__all__ = ["DENIED", "REFUSED", "SccacheDist"]

REFUSED = 113
"""Exit code of what would compile here."""
DENIED = 114
"""The same where the scheduler let us not in."""
_PACKING_S = 300
_TOOLCHAINS = 2 << 30
"""Bytes; ours lie elsewhere."""
_SILENT = "could not communicate with scheduler|failure during dist client .*"
_STAND_IN = """#!/bin/sh
for word; do [ "$word" = -E ] && exec %s "$@"; done
echo 'sccache would compile here' >&2
exit %d
"""
_AWAY = """#!/bin/sh
compiler=$1
case $compiler in /*) ;; *) compiler=$(command -v "$1") ;; esac
compiler=%(folder)s/behind$compiler
[ -x "$compiler" ] || { echo "sccache ERROR: $1 is not packed" >&2; exit %(refused)d; }
shift
SCCACHE_SERVER_UDS=%(socket)s SCCACHE_CONF=/dev/null SCCACHE_NO_CACHE=1
SCCACHE_IGNORE_SERVER_IO_ERROR=1 SCCACHE_IDLE_TIMEOUT=1
export SCCACHE_SERVER_UDS SCCACHE_CONF SCCACHE_NO_CACHE SCCACHE_IGNORE_SERVER_IO_ERROR SCCACHE_IDLE_TIMEOUT
said=$(%(program)s "$compiler" "$@" 2>&1)
code=$?
case $code-$said in
  0-*) ;;
  %(refused)d-*)
    output=
    for word; do [ "$before" = -o ] && output=${word##*/}; before=$word; done
    why=$(grep -F "[$output]: Could not perform distributed compile" %(log)s | tail -n 1)
    why=${why##*falling back to local: }
    [ -n "$why" ] || why=$(grep -oE %(silent)s %(log)s | tail -n 1)
    said="sccache ERROR: ${why:-nothing of this kind is sent}" ;;
  *-*'http error status: '*)
    said="sccache ERROR: ${said##*http error status: }"
    code=%(denied)d ;;
  *-*'Job failed on server '*)  # its exit code is taken for a signal
    code=1 ;;
esac
[ -z "$said" ] || printf '%%s\n' "$said" >&2
exit $code
"""


class SccacheDist:
    """For as long as one command needs it."""

    def __init__(self, told: Dict[str, Any], token: str, tied: Optional[Callable[[], Any]]) -> None:
        """Nothing is started.

        Args:
            told: ``url`` of the scheduler; ``program``; ``folder``, where everything lies; ``compilers``.
            token: what the scheduler asks for; empty for nothing. Secret.
            tied: what makes a child end as soon as we do.
        """
        self._url, self._folder = str(told["url"]), str(told["folder"])
        self._program = str(told["program"])
        self._compilers = [str(compiler) for compiler in told["compilers"]]
        self._token, self._tied = token, tied
        self._own = ""
        self._server: Optional[SccacheServer] = None

    def start(self) -> str:
        """Pack the compilers and start the server; why that cannot be, or nothing.

        A scheduler that does not answer is no reason: it is asked again with each compile.
        """
        os.makedirs(self._folder, exist_ok=True)
        program = shutil.which(self._program)
        if program is None:
            return "%s: not there, or no program" % self._program
        compilers = [path for path in map(shutil.which, dict.fromkeys(self._compilers)) if path]
        for compiler in compilers:
            why = self._pack(program, compiler)
            if why:
                return why
        self._own = short_folder()
        log = self._own + "/log"
        self._server = SccacheServer(program, self._own + "/socket", log)
        self._lay(program, compilers, log)
        return "" if self._started(compilers) else "%s: no server of it can be started" % program

    def stop(self) -> Dict[str, int]:
        """End the server; how many compiles each machine did, by its address."""
        if self._server is None:
            return {}
        counts: Dict[str, int] = {}
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            stats = json.loads(self._server.ask("--show-stats", "--stats-format=json"))["stats"]
            counts = {str(name): int(count) for name, count in stats["dist_compiles"].items()}
        self._server.kill()  # it would wait for what nobody waits for any more
        self._server = None
        shutil.rmtree(self._own, ignore_errors=True)
        return counts

    def _packed(self, compiler: str) -> str:
        return self._folder + "/packed" + compiler + ".tar.gz"

    def _pack(self, program: str, compiler: str) -> str:
        place = self._packed(compiler)
        if os.path.exists(place):
            return ""
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            done = subprocess.run(
                [program, "--package-toolchain", compiler, place + ".tmp"],
                env=_plain_environ(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_PACKING_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode != 0 or not os.path.exists(place + ".tmp"):
            said = done.stdout.decode("utf-8", "replace")[-300:].strip()
            return "%s --package-toolchain packs nothing: %s" % (program, said)
        os.replace(place + ".tmp", place)
        return ""

    def _lay(self, program: str, compilers: List[str], log: str) -> None:
        words = {
            "folder": shlex.quote(self._folder),
            "socket": shlex.quote(self._own + "/socket"),
            "program": shlex.quote(program),
            "log": shlex.quote(log),
            "silent": shlex.quote(_SILENT),
            "refused": REFUSED,
            "denied": DENIED,
        }
        _lay_script(self._folder + "/away", _AWAY % words)
        for compiler in compilers:
            text = _STAND_IN % (shlex.quote(compiler), REFUSED)
            _lay_script(self._folder + "/behind" + compiler, text)

    def _started(self, compilers: List[str]) -> bool:
        config, server = self._own + "/config", self._server
        handle = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self._config(compilers))
        environ = dict(_plain_environ(), SCCACHE_CONF=config, SCCACHE_LOG="warn", SCCACHE_DIRECT="false")
        environ["SCCACHE_DIR"] = self._own + "/kept"
        try:
            return server is not None and server.start(environ, self._tied)
        finally:
            os.unlink(config)

    def _config(self, compilers: List[str]) -> str:
        lines = ["[dist]", "scheduler_url = " + _quoted(self._url)]
        lines += [
            "cache_dir = " + _quoted(self._own + "/toolchains"),
            "toolchain_cache_size = %d" % _TOOLCHAINS,
        ]
        if self._token:
            lines += ["[dist.auth]", 'type = "token"', "token = " + _quoted(self._token)]
        for compiler in compilers:
            lines += ["[[dist.toolchains]]", 'type = "path_override"']
            lines.append("compiler_executable = " + _quoted(self._folder + "/behind" + compiler))
            lines.append("archive = " + _quoted(self._packed(compiler)))
            lines.append("archive_compiler_executable = " + _quoted(compiler))
        return "\n".join(lines) + "\n"


def _plain_environ() -> Dict[str, str]:
    """Ours, without what other servers of sccache are told."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SCCACHE_")}
    return dict(own, SCCACHE_CONF=os.devnull)


def _quoted(text: str) -> str:
    """A string of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _lay_script(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)
    os.chmod(path, 0o755)  # noqa: S103  as programs are
