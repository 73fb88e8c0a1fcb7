"""The executor that uses this machine's own tools, at the fixed path, in namespaces of its own."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges import sandbox
from torchbuild.edges.isolation import NETWORK_QUERY, require_isolated
from torchbuild.edges.mounts import Mounts
from torchbuild.edges.process import attach, capture, run_process
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torchbuild.context import Completed

__all__ = ["LocalExecutor"]


class LocalExecutor:
    """Runs commands on this machine; see `torchbuild.context.Executor`.

    Nothing that a command starts outlives it, nor us, SIGKILL included. Needs Linux namespaces: as root, or
    as a user where the kernel lets users have them.
    """

    def __init__(
        self,
        *,
        root: Path,
        store: Path,
        cache: Path,
        jobs: int | None = None,
        memory_gib: float | None = None,
    ) -> None:
        """Make the directories where they are missing.

        Args:
            root: the workspace's root, which the build sees at the fixed path.
            store: locked inputs, read-only inside.
            cache: outlives the build, writable inside.
            jobs: compiles at a time; None leaves it to the build.
            memory_gib: kept for the caller; only a container can enforce it.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        self._mounts = Mounts(root=root, store=store, cache=cache)
        self._mounts.prepare()
        self._jobs = jobs
        self.memory_gib = memory_gib
        self._isolated = False

    @property
    def name(self) -> str:
        """``local``."""
        return "local"

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
            HostError: ``namespaces-refused``, ``network-not-isolated``, ``program-missing``,
                ``directory-missing``, and for the log ``disk-full``, ``not-writable``.
        """
        self._assert_isolation(command)
        with _status() as (reader, writer):
            completed = run_process(
                self._launcher(command, writer),
                environ=_launcher_environ(),
                log=log,
                on_line=on_line,
                append=append,
                pass_fds=(writer,),
            )
            _raise_where_not_started(reader, completed.exit_code)
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
        with _status() as (reader, writer):
            code = attach(self._launcher(command, writer), environ=_launcher_environ(), pass_fds=(writer,))
            _raise_where_not_started(reader, code)
        return code

    def _assert_isolation(self, command: Command) -> None:
        """Look from inside, once, before the first command that may have no network."""
        if command.network == "host" or self._isolated:
            return
        query = Command(argv=NETWORK_QUERY, cwd="/")
        with _status() as (reader, writer):
            try:
                devices = capture(
                    self._launcher(query, writer), environ=_launcher_environ(), pass_fds=(writer,)
                )
            except HostError:
                _raise_where_not_started(reader, sandbox.NOT_STARTED)
                raise
        require_isolated(devices, self.name)
        self._isolated = True

    def _launcher(self, command: Command, status: int) -> list[str]:
        exact = command.expanded()
        isolation = ["--no-network"] if exact.network == "none" else []
        return [
            sys.executable,
            *("-I", "-S", "-X", "utf8", sandbox.__file__),
            f"--parent={os.getpid()}",
            f"--status-fd={status}",
            f"--bind={self._mounts.root}={BUILD_ROOT}",
            f"--ro-bind={self._mounts.store}={BUILD_ROOT}/store",
            f"--bind={self._mounts.cache}={BUILD_ROOT}/cache",
            *isolation,
            f"--chdir={exact.cwd}",
            *(f"--env={name}={value}" for name, value in exact.environ),
            "--",
            *exact.argv,
        ]


def _launcher_environ() -> dict[str, str]:
    """What the launcher's interpreter needs to start; its variables can be read from inside."""
    return {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}


@contextlib.contextmanager
def _status() -> Iterator[tuple[int, int]]:
    """A pipe on which the launcher tells what prevented a start; reading it never waits."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


def _raise_where_not_started(reader: int, exit_code: int) -> None:
    """Tell a launcher that failed from a command that did."""
    if exit_code != sandbox.NOT_STARTED:
        return
    try:
        message = json.loads(os.read(reader, 1 << 16))
    except (BlockingIOError, ValueError):
        return
    raise _not_started(message["kind"], message["text"])


def _not_started(kind: str, text: str) -> HostError:
    if kind == "directory":
        return HostError(
            "directory-missing",
            f"{text.partition(':')[0]}: a command cannot start there",
            why=(f"seen: {text}", "wanted: a directory of the build"),
            fix="Run the stage again that makes the directory.",
        )
    if kind == "program":
        return HostError(
            "program-missing",
            f"{text.partition(':')[0]}: this program cannot be started",
            why=(f"seen: {text}", "wanted: a program that exists inside the build and can be executed"),
            fix="Install the program on this machine, or build in a container: set machine.engine to podman.",
        )
    return HostError(
        "namespaces-refused",
        "local: this machine refuses the namespaces that a build without a container needs",
        why=(
            f"seen: {text}",
            "wanted: mount, process and network namespaces, as root or as an ordinary user",
        ),
        fix="Build in a container: set machine.engine to podman or docker.",
    )
