"""Whoever stands before an executor changes only what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from torchbuild.context import Completed, Executor
from torchbuild.edges.forwarding import ForwardingExecutor
from torchbuild.model.command import Command

TRUE = Command(argv=("/bin/true",))


class Other:
    """An executor that keeps what it is asked for."""

    name = "other"

    def __init__(self) -> None:
        """Nothing yet."""
        self.asked: list[tuple[object, ...]] = []

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Ends well."""
        self.asked.append(("run", command, log, on_line, append))
        return Completed(exit_code=0, seconds=1.0, tail=(), log=log)

    def put(self, source: Path, destination: str) -> None:
        """Into the build."""
        self.asked.append(("put", source, destination))

    def get(self, source: str, destination: Path) -> None:
        """Out of it."""
        self.asked.append(("get", source, destination))

    def environment(self) -> Mapping[str, str]:
        """One variable."""
        return {"MAX_JOBS": "3"}

    def shell(self, command: Command) -> int:
        """Ends with a code of its own."""
        self.asked.append(("shell", command))
        return 7


def test_all_is_the_other_executors(tmp_path: Path) -> None:
    """Name, commands with all their arguments, files, environment and terminal are passed on."""
    other = Other()
    executor: Executor = ForwardingExecutor(other)

    done = executor.run(TRUE, log=tmp_path / "log", on_line=print, append=True)
    executor.put(tmp_path, "/a")
    executor.get("/a", tmp_path)
    code = executor.shell(TRUE)

    assert (executor.name, executor.environment(), code, done.exit_code) == ("other", {"MAX_JOBS": "3"}, 7, 0)
    assert other.asked == [
        ("run", TRUE, tmp_path / "log", print, True),
        ("put", tmp_path, "/a"),
        ("get", "/a", tmp_path),
        ("shell", TRUE),
    ]
