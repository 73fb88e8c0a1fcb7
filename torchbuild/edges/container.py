"""The executor that runs each command in a container of its own, from a builder image."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import TEMP_PREFIX
from torchbuild.edges.engine import engine_argv, find_engine, is_rootless
from torchbuild.edges.isolation import NETWORK_QUERY, require_isolated
from torchbuild.edges.mounts import Mounts
from torchbuild.edges.process import attach, capture, run_process
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torchbuild.context import Completed
    from torchbuild.model.artifact import ImageRef

__all__ = ["ContainerExecutor", "find_engine"]

_ENTRY = """
umask 022
cd "$1" || exit 64
case $2 in /*) test -x "$2" || exit 65 ;; esac
: >"$3" || exit 66
shift 3
exec "$@" 2>&1
"""
"""A constant: the command is only ever its arguments.

One pipe for stdout and stderr keeps their order, which the engine's two pipes lose. The mark that it
leaves tells a command that ended with some code from a container that never started one.
"""

_NO_DIRECTORY, _NO_PROGRAM = 64, 65
_ROOT_LABEL = "torchbuild.root"


class ContainerExecutor:
    """Runs commands in an engine's containers; see `torchbuild.context.Executor`.

    A container lives as long as one command. It may outlive us where we are killed with SIGKILL: call
    `remove_stale` before a build goes on.
    """

    def __init__(
        self,
        *,
        engine: str,
        image: ImageRef,
        root: Path,
        store: Path,
        cache: Path,
        jobs: int | None = None,
        memory_gib: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Make the directories where they are missing; no engine is asked yet.

        Args:
            engine: ``podman`` or ``docker``, or the path of one.
            image: the builder, used by its id.
            root: the workspace's root, which the build sees at the fixed path.
            store: locked inputs, read-only inside.
            cache: outlives the build, writable inside.
            jobs: compiles at a time, and processors that the container may use; None for all.
            memory_gib: GiB that a container may use, swap included; None for no limit.
            labels: put on every container, such as ``torchbuild.run``.

        Raises:
            HostError: ``path-not-mountable``, ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        self._mounts = Mounts(root=root.absolute(), store=store.absolute(), cache=cache.absolute())
        self._volumes = _volumes(self._mounts)
        self._mounts.prepare()
        self._engine = engine
        self._image = image
        self._jobs = jobs
        self._memory_gib = memory_gib
        self._labels = dict(labels or {}) | {_ROOT_LABEL: _root_mark(self._mounts.root)}
        self._isolated = False

    @property
    def name(self) -> str:
        """``podman`` or ``docker``."""
        return PurePath(self._engine).name

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Run to the end, whatever the exit code.

        Raises:
            HostError: ``engine-failed``, ``network-not-isolated``, ``program-missing``,
                ``program-not-runnable``, ``directory-missing``, and for the log ``disk-full``,
                ``not-writable``.
        """
        self._assert_isolation(command)
        exact = command.expanded()
        with self._container() as container:
            completed = run_process(
                self._argv(exact, container),
                environ=dict(os.environ),
                log=log,
                on_line=on_line,
                append=append,
            )
            self._require_started(container, exact, completed.exit_code, completed.tail)
        return completed

    def put(self, source: Path, destination: str) -> None:
        """Copy a file or a directory into the build; see `torchbuild.edges.mounts.Mounts.put`."""
        self._mounts.put(source, destination)

    def get(self, source: str, destination: Path) -> None:
        """Copy a file or a directory out of the build; see `torchbuild.edges.mounts.Mounts.get`."""
        self._mounts.get(source, destination)

    def environment(self) -> Mapping[str, str]:
        """``MAX_JOBS``, where jobs were given."""
        return {} if self._jobs is None else {"MAX_JOBS": str(self._jobs)}

    def shell(self, command: Command) -> int:
        """Hand the terminal to the command; its exit code.

        Raises:
            HostError: as `run`.
        """
        self._assert_isolation(command)
        exact = command.expanded()
        terminal = ["--interactive", *(["--tty"] if sys.stdin.isatty() else [])]
        with self._container() as container:
            code = attach(self._argv(exact, container, *terminal), environ=dict(os.environ))
            self._require_started(container, exact, code, ())
        return code

    def remove_stale(self) -> tuple[str, ...]:
        """Remove what a killed run of this workspace left in the engine: containers, still running or not.

        Returns:
            Their ids.

        Raises:
            HostError: ``query-failed``.
        """
        query = [
            "ps",
            "--all",
            "--quiet",
            "--no-trunc",
            f"--filter=label={_ROOT_LABEL}={self._labels[_ROOT_LABEL]}",
        ]
        stale = tuple(capture(engine_argv(self._engine, *query)).split())
        if stale:
            self._remove(stale)
        return stale

    def _remove(self, containers: Sequence[str]) -> None:
        """Kill and remove; one that is gone already is no error."""
        at_once = ["--ignore", "--time=0"] if self.name == "podman" else []
        capture(engine_argv(self._engine, "rm", "--force", *at_once, *containers))

    @contextlib.contextmanager
    def _container(self) -> Iterator[str]:
        """A free name for a container; where the body raises, what has that name is removed."""
        name = f"torchbuild-{secrets.token_hex(8)}"
        try:
            yield name
        except BaseException:
            # The client is gone by now, while its container goes on under the engine's monitor.
            with contextlib.suppress(HostError):
                self._remove([name])
            raise
        finally:
            self._mark(name).unlink(missing_ok=True)

    def _mark(self, container: str) -> Path:
        return self._mounts.root / f"{TEMP_PREFIX}{container}"

    def _assert_isolation(self, command: Command) -> None:
        """Look from inside, once, before the first command that may have no network."""
        if command.network == "host" or self._isolated:
            return
        with self._container() as container:
            try:
                devices = capture(self._argv(Command(argv=NETWORK_QUERY, cwd="/"), container))
            except HostError as error:
                raise _engine_failed(self.name, self._image.name, error.evidence) from error
        require_isolated(devices, self.name)
        self._isolated = True

    def _argv(self, exact: Command, container: str, *options: str) -> list[str]:
        _require_runnable(exact)
        mark = f"{BUILD_ROOT}/{self._mark(container).name}"
        # A build that writes the machine's name into a file is the same everywhere, and this one resolves.
        hostname = ["--hostname=localhost"] if exact.network == "none" else []
        # `env -i` and not the engine's options: neither the image's variables nor the engine's own get in.
        environ = ["/usr/bin/env", "-i", "--", *(f"{name}={value}" for name, value in exact.environ)]
        return engine_argv(
            self._engine,
            *("run", "--rm", "--init", "--pull=never", f"--name={container}", f"--network={exact.network}"),
            *("--log-driver=none", "--security-opt=label=disable", "--entrypoint=/bin/sh"),
            *(f"--label={name}={value}" for name, value in self._labels.items()),
            *(*hostname, *self._limits(), *self._user()),
            *self._volumes,
            *options,
            self._image.id,
            *("-c", _ENTRY, "sh", exact.cwd, exact.argv[0], mark, *environ, *exact.argv),
        )

    def _limits(self) -> list[str]:
        limits = []
        if self._jobs is not None:
            limits.append(f"--cpus={min(self._jobs, os.cpu_count() or self._jobs)}")
        if self._memory_gib is not None:
            size = int(self._memory_gib * (1 << 30))
            limits += [f"--memory={size}b", f"--memory-swap={size}b"]
        return limits

    def _user(self) -> list[str]:
        """Results belong to the caller: a rootless engine maps its root to them, docker's daemon is root."""
        uid = os.geteuid()
        if uid == 0 or self.name != "docker" or is_rootless(self._engine):
            return []
        return [f"--user={uid}:{os.getegid()}"]

    def _require_started(self, container: str, exact: Command, code: int, tail: tuple[str, ...]) -> None:
        """Tell an engine that failed from a command that did."""
        if self._mark(container).exists():
            return
        if code == _NO_DIRECTORY:
            raise HostError(
                "directory-missing",
                f"{exact.cwd}: a command cannot start there",
                why=(f"seen: no such directory in {self._image.name}", "wanted: a directory of the build"),
                fix="Run the stage again that makes the directory.",
            )
        if code == _NO_PROGRAM:
            raise HostError(
                "program-missing",
                f"{exact.argv[0]}: no such program in the builder image",
                why=(f"seen: nothing executable there in {self._image.name}", "wanted: a program to start"),
                fix="Add the package that holds it to the image's package list and make the image again.",
            )
        raise _engine_failed(self.name, self._image.name, tail)


def _root_mark(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _volumes(mounts: Mounts) -> list[str]:
    places = ((mounts.root, "", "rw"), (mounts.store, "/store", "ro"), (mounts.cache, "/cache", "rw"))
    for path, _, _ in places:
        if ":" in str(path):
            raise HostError(
                "path-not-mountable",
                f"{path}: an engine cannot mount a path with a colon",
                why=(
                    "seen: a colon, which ends the path in an engine's option",
                    "wanted: a path without one",
                ),
                fix="Name another directory for the workspace, the store or the cache.",
            )
    return [f"--volume={path}:{BUILD_ROOT}{below}:{mode}" for path, below, mode in places]


def _require_runnable(exact: Command) -> None:
    """``env`` takes a leading word with an equals sign for a variable."""
    if "=" in exact.argv[0]:
        raise HostError(
            "program-not-runnable",
            f"{exact.argv[0]}: a program with an equals sign in its path cannot run in a container",
            why=("seen: =", "wanted: a path without one"),
            fix="Rename the program.",
        )


def _engine_failed(engine: str, image: str, evidence: tuple[str, ...]) -> HostError:
    return HostError(
        "engine-failed",
        f"{engine}: it could not start a container of {image}",
        why=(f"seen: {evidence[-1] if evidence else 'no message'}", "wanted: a container that starts"),
        fix=f"Run `{engine} run --rm --network=none {image} true` by hand and mend what it reports.",
        evidence=evidence,
    )
