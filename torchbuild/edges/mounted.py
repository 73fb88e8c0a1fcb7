"""What every executor is that shows a build its directories at the fixed path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

from torchbuild.edges.isolation import NETWORK_QUERY, require_isolated
from torchbuild.edges.mounts import Mounts
from torchbuild.model.command import Command

if TYPE_CHECKING:
    from torchbuild.edges.disk_watch import DiskWatch

__all__ = ["MountedExecutor", "Room"]


class Room(TypedDict):
    """Where a build has its place on this machine, and how much of it."""

    root: Path
    """The workspace's root, which the build sees at the fixed path."""
    store: Path
    """Locked inputs, read-only inside."""
    cache: Path
    """Outlives the build, writable inside."""
    jobs: NotRequired[int | None]
    """Compiles at a time, and processors that a command runs on; None for all."""
    memory_gib: NotRequired[float | None]
    """GiB that a command may use, swap included; None for no limit."""


class MountedExecutor(ABC):
    """Files go in and out the same way, and that there is no network is looked at from inside."""

    def __init__(self, **room: Unpack[Room]) -> None:
        """Make the directories where they are missing.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        self._mounts = Mounts(
            root=room["root"].absolute(), store=room["store"].absolute(), cache=room["cache"].absolute()
        )
        self._mounts.prepare()
        self._jobs = room.get("jobs")
        self._memory_gib = room.get("memory_gib")
        self._isolated = False
        self.watch: DiskWatch | None = None
        """Pauses commands while a disk is nearly full."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the executor is called."""

    def put(self, source: Path, destination: str) -> None:
        """Copy a file or a directory into the build; see `torchbuild.edges.mounts.Mounts.put`."""
        self._mounts.put(source, destination)

    def get(self, source: str, destination: Path) -> None:
        """Copy a file or a directory out of the build; see `torchbuild.edges.mounts.Mounts.get`."""
        self._mounts.get(source, destination)

    def environment(self) -> Mapping[str, str]:
        """``MAX_JOBS``, where jobs were given."""
        return {} if self._jobs is None else {"MAX_JOBS": str(self._jobs)}

    def _assert_isolation(self, command: Command) -> None:
        """Look from inside, once, before the first command that may have no network."""
        if command.network == "host" or self._isolated:
            return
        require_isolated(self._devices(Command(argv=NETWORK_QUERY, cwd="/")), self.name)
        self._isolated = True

    @abstractmethod
    def _devices(self, query: Command) -> str:
        """What the query, run inside, prints."""
