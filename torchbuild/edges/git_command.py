"""One git process: which addresses it may see, what it finds around it, what its last words mean."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from git import Git

__all__ = ["Ended", "Running", "git", "local_git", "rewriting", "unprompted_ssh"]

# What a surrounding git would hand to its children, see `git rev-parse --local-env-vars`, and what else would
# change the meaning of a command. The user's own GIT_CONFIG_GLOBAL, GIT_SSH, GIT_SSL_CAINFO and so on stay.
_FOREIGN = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_DEFAULT_HASH",
    "GIT_TEMPLATE_DIR",
    "GIT_ATTR_SOURCE",
    "GIT_CONFIG",
)
# How a user may hand configuration over; heard when fetching, not when laying files down.
_CONFIGURATION = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")


class Ended(NamedTuple):
    """A git process that ended."""

    status: int
    """Its exit code."""
    out: bytes
    """What it printed."""
    err: str
    """What it said on stderr."""


class Running:
    """Git processes that several threads started, so that one can end them all."""

    def __init__(self) -> None:
        """None runs yet."""
        self._lock = threading.Lock()
        self._there: set[subprocess.Popen[bytes]] = set()
        self._over = False

    @contextlib.contextmanager
    def holding(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Count the process as running; it ends with whatever is raised meanwhile, or now if all are over."""
        with self._lock:
            self._there.add(process)
            if self._over:
                _end(process)
        try:
            yield
        except BaseException:
            _end(process)
            raise
        finally:
            with self._lock:
                self._there.discard(process)

    def end(self) -> None:
        """End them, and whatever is started later; who waits for one sees that it was killed."""
        with self._lock:
            self._over = True
            for process in self._there:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a git with all that it started: a helper that waits for a server would hold the line for git."""
    import psutil  # noqa: PLC0415  only where something is interrupted

    with contextlib.suppress(psutil.Error):
        git = psutil.Process(process.pid)
        for child in (*git.children(recursive=True), git):
            with contextlib.suppress(psutil.Error):
                child.terminate()


def git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    unset: Sequence[str] = (),
    running: Running | None = None,
) -> Ended:
    """Run git with the user's own configuration, without what a surrounding git would hand over.

    Args:
        arguments: what follows ``git``.
        cwd: where it runs.
        environ: further variables.
        stdin: what it reads.
        unset: further variables that it must not see.
        running: where it counts while it runs.

    Raises:
        HostError: ``git-missing``.
    """
    own = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(environ or {})}
    removed = [part for name in (*_FOREIGN, *unset) if name not in own for part in ("-u", name)]
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        argv = ["env", *removed, *_leash(), "git", *arguments]
        held = _started(argv, cwd=cwd, environ=own, given=given)  # whoever lets go of it ends the process
        started = cast("subprocess.Popen[bytes]", held.proc)
        with (running or Running()).holding(started):
            out, said = started.communicate()
    status, err = started.returncode, said.decode(errors="replace").rstrip("\n")
    if status == 127:  # noqa: PLR2004  env's own word for a program that is not there
        raise _no_git(err)
    return Ended(status, out, err)


def _started(argv: list[str], *, cwd: Path, environ: dict[str, str], given: BinaryIO) -> Git.AutoInterrupt:
    try:
        # 200 ms that only fetching commands should pay; GitPython looks for git when it is imported.
        from git import Git  # noqa: PLC0415
        from git.exc import GitCommandNotFound  # noqa: PLC0415
    except ImportError as error:
        raise _no_git(str(error).strip().partition("\n")[0]) from error

    try:
        return Git(cwd).execute(argv, istream=given, as_process=True, env=environ, umask=0o022)
    except (GitCommandNotFound, OSError) as error:
        raise _no_git(str(error)) from error


@functools.cache
def _leash() -> tuple[str, ...]:
    """What makes git end with this process, however that ends; nothing where there is no such program."""
    leash = ("setpriv", "--pdeathsig", "TERM", "--")
    try:
        tried = subprocess.run(
            [*leash, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return ()
    return leash if tried.returncode == 0 else ()


def unprompted_ssh(cwd: Path, stalled_s: int) -> dict[str, str]:
    """Variables that keep ssh from asking the terminal, unless the user says how ssh is to be run.

    Args:
        cwd: where git will run.
        stalled_s: seconds after which a server that says nothing at all counts as dead.
    """
    if any(os.environ.get(name) for name in ("GIT_SSH_COMMAND", "GIT_SSH")):
        return {}
    if git(["config", "--get", "core.sshCommand"], cwd=cwd).out.strip():
        return {}
    alive = f"-o ServerAliveInterval={max(1, stalled_s // 4)} -o ServerAliveCountMax=4"
    return {"GIT_SSH_COMMAND": f"ssh -o BatchMode=yes -o ConnectTimeout={stalled_s} {alive}"}


def rewriting(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Variables that make git read `prefixes` as url.NEW.insteadOf=OLD, beside what the user hands over.

    Not options: new addresses may hold credentials, and every user of the machine sees options.
    """
    if not prefixes:
        return {}
    before = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(before) if before.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(prefixes))}
    for number, (old, new) in enumerate(prefixes.items(), start=first):
        variables[f"GIT_CONFIG_KEY_{number}"] = f"url.{new}.insteadOf"
        variables[f"GIT_CONFIG_VALUE_{number}"] = old
    return variables


def _no_git(seen: str) -> HostError:
    return HostError(
        "git-missing",
        "git cannot be started",
        why=(f"seen: {seen.strip()}", "wanted: git 2.32 or newer on PATH"),
        fix="Install git: apt-get install git, or dnf install git.",
    )


def local_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    stdin: bytes = b"",
    ceiling: Path | None = None,
    running: Running | None = None,
) -> Ended:
    """Run git on this machine only, blind to every configuration but the repository's own.

    Hooks, filters (LFS), end-of-line rewriting and the user's aliases do not act. See `git` for the rest.
    """
    environ = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "TZ": "UTC",
    }
    if ceiling is not None:
        environ["GIT_CEILING_DIRECTORIES"] = str(ceiling)
    switches = {
        "core.hooksPath": os.devnull,
        "core.attributesFile": os.devnull,
        "core.excludesFile": os.devnull,
        "core.autocrlf": "false",
        "core.fsmonitor": "false",
        "gc.auto": "0",
        "maintenance.auto": "false",
        "safe.directory": "*",
        "advice.detachedHead": "false",
        "init.defaultBranch": "main",
        "protocol.allow": "never",
        "protocol.file.allow": "always",
    }
    options = [part for name, value in switches.items() for part in ("-c", f"{name}={value}")]
    told = [*options, *arguments]
    return git(told, cwd=cwd, environ=environ, stdin=stdin, unset=_CONFIGURATION, running=running)
