"""What executors without an engine share: commands in namespaces of their own, started by our launcher."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, ClassVar

from torchbuild.edges import sandbox
from torchbuild.edges.atomic import remove_tree, temp_beside, translated
from torchbuild.edges.isolation import NETWORK_QUERY
from torchbuild.edges.memory_group import memory_group
from torchbuild.edges.mounted import MountedExecutor
from torchbuild.edges.process import attach, capture, run_process
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torchbuild.context import Completed

__all__ = ["SandboxExecutor"]


class SandboxExecutor(MountedExecutor):
    """Runs commands through `torchbuild.edges.sandbox`; see `torchbuild.context.Executor`.

    Nothing that a command starts outlives it, nor us, SIGKILL included. Needs Linux namespaces: as root, or
    as a user where the kernel lets users have them.
    """

    program_fix: ClassVar[str]
    """What to do where a program is missing inside."""
    namespaces_fix: ClassVar[str]
    """What to do where the machine refuses namespaces."""

    _options: tuple[str, ...] = ()
    """Further ones for the launcher."""
    _shares_network = False

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
            HostError: ``namespaces-refused``, ``network-not-isolated``, ``memory-not-limitable``,
                ``program-missing``, ``directory-missing``, and for the log ``disk-full``, ``not-writable``.
        """
        self._assert_isolation(command)
        with _status() as (reader, writer), self._resources() as resources:
            completed = run_process(
                self._launcher(command, writer, resources),
                environ=_launcher_environ(),
                log=log,
                on_line=on_line,
                append=append,
                pass_fds=(writer,),
                during=None if self.watch is None else self.watch.over_tree,
            )
            self._raise_where_not_started(reader, completed.exit_code)
        return completed

    def shell(self, command: Command) -> int:
        """Hand the terminal to the command; its exit code.

        Raises:
            HostError: as `run`.
        """
        self._assert_isolation(command)
        with _status() as (reader, writer), self._resources() as resources:
            argv = self._launcher(command, writer, resources)
            code = attach(argv, environ=_launcher_environ(), pass_fds=(writer,))
            self._raise_where_not_started(reader, code)
        return code

    def share_network(self) -> bool:
        """Let commands without a network see this machine's, where it refuses network namespaces alone.

        For a caller that keeps commands from it by other means; see `torchbuild.edges.guarded`.

        Returns:
            Whether that is so; where it is not, nothing changes.

        Raises:
            HostError: ``namespaces-refused``, ``network-not-isolated``.
        """
        try:
            self._assert_isolation(Command(argv=NETWORK_QUERY, cwd="/"))
        except HostError as error:
            if error.reference != "namespaces-refused":
                raise
            self._devices(Command(argv=NETWORK_QUERY, cwd="/", network="host"))
            self._isolated = self._shares_network = True
        return self._shares_network

    def _devices(self, query: Command) -> str:
        """What the query, run inside, prints."""
        with _status() as (reader, writer), self._resources() as resources:
            argv = self._launcher(query, writer, resources)
            try:
                return capture(argv, environ=_launcher_environ(), pass_fds=(writer,))
            except HostError:
                self._raise_where_not_started(reader, sandbox.NOT_STARTED)
                raise

    @contextlib.contextmanager
    def _resources(self) -> Iterator[list[str]]:
        """What lasts as long as one command, as options: a directory for temporary files, a limited group."""
        path = temp_beside(self._mounts.root)
        with contextlib.ExitStack() as stack:
            stack.callback(remove_tree, path)
            with translated(path):
                path.mkdir()
                path.chmod(0o1777)
            options = [f"--scratch={path}"]
            if self._memory_gib is not None:
                options.append(f"--group={stack.enter_context(memory_group(self._memory_gib))}")
            yield options

    def _launcher(self, command: Command, status: int, resources: Sequence[str]) -> list[str]:
        exact = command.expanded()
        isolation = ["--no-network"] if exact.network == "none" and not self._shares_network else []
        return [
            *sandbox.launcher(),
            *self._options,
            f"--processors={self._jobs or 0}",
            f"--parent={os.getpid()}",
            *resources,
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

    def _raise_where_not_started(self, reader: int, exit_code: int) -> None:
        """Tell a launcher that failed from a command that did."""
        if exit_code != sandbox.NOT_STARTED:
            return
        try:
            message = json.loads(os.read(reader, 1 << 16))
        except (BlockingIOError, ValueError):
            return
        raise self._not_started(message["kind"], message["text"])

    def _not_started(self, kind: str, text: str) -> HostError:
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
                fix=self.program_fix,
            )
        return HostError(
            "namespaces-refused",
            f"{self.name}: this machine refuses the namespaces that a build without an engine needs",
            why=(
                f"seen: {text}",
                "wanted: mount, process and network namespaces, as root or as an ordinary user",
            ),
            fix=self.namespaces_fix,
        )


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
