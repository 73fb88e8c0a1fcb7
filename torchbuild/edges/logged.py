"""Logs that say what was run: each begins with its command, and the one of the run before is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.edges.forwarding import ForwardingExecutor
from torchbuild.edges.previous import set_aside
from torchbuild.model.command import Command, render

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torchbuild.context import Completed, Executor

__all__ = ["LoggedExecutor"]


class LoggedExecutor(ForwardingExecutor):
    """Another executor whose logs are for people too; satisfies `torchbuild.context.Executor`."""

    def __init__(self, executor: Executor, redact: Callable[[str], str]) -> None:
        """Nothing is written yet.

        Args:
            executor: what runs the commands.
            redact: takes the secrets out of a command's text; what a tool prints is its own.
        """
        super().__init__(executor)
        self._redact = redact

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Write down the command as one could type it, then run it to its end; see `set_aside` for old logs.

        Raises:
            HostError: what the other raises, and for the log ``disk-full``, ``not-writable``,
                ``file-operation-failed``.
        """
        if not append:
            set_aside(log)
        with translated(log):
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab" if append else "wb") as file:
                file.write(self._redact(render(command.expanded()) + "\n\n").encode(errors="replace"))
        return self._executor.run(command, log=log, on_line=on_line, append=True)
