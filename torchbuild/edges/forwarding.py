"""What every executor is that stands before another one: it hands on all but what it is there for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torchbuild.context import Completed, Executor
    from torchbuild.model.command import Command

__all__ = ["ForwardingExecutor"]


class ForwardingExecutor:
    """Another executor, as it is; satisfies `torchbuild.context.Executor`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def name(self) -> str:
        """The other's."""
        return self._executor.name

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """As the other does."""
        return self._executor.run(command, log=log, on_line=on_line, append=append)

    def put(self, source: Path, destination: str) -> None:
        """As the other does."""
        self._executor.put(source, destination)

    def get(self, source: str, destination: Path) -> None:
        """As the other does."""
        self._executor.get(source, destination)

    def environment(self) -> Mapping[str, str]:
        """The other's."""
        return self._executor.environment()

    def shell(self, command: Command) -> int:
        """As the other does."""
        return self._executor.shell(command)
