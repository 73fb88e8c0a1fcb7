"""The outside world as a handful of Protocols. Stages know these and no machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from torchbuild.model.artifact import Artifact
from torchbuild.model.command import Command
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.model.stage import StageKey, StageResult
from torchbuild.model.stopped import Reason, Unasked
from torchbuild.report.events import Event

__all__ = [
    "Completed",
    "Context",
    "Executor",
    "Git",
    "Network",
    "Records",
    "Reporter",
    "Stopping",
    "Store",
    "Trees",
    "Workspace",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """A process that ended."""

    exit_code: int
    """The process's own; 128 + N where signal N ended it."""
    seconds: float
    """Wall time."""
    tail: tuple[str, ...]
    """The last lines it printed, at most 200, oldest first."""
    log: Path
    """Everything it printed, stdout and stderr in the order they came."""


class Executor(Protocol):
    """What runs commands at the fixed path: here, or in a container."""

    @property
    def name(self) -> str:
        """``local``, ``podman`` or ``docker``."""
        ...

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Run to the end, whatever the exit code. Only what prevents a start is a HostError."""
        ...

    def put(self, source: Path, destination: str) -> None:
        """Copy a file or a directory from here into the build (absolute path inside)."""
        ...

    def get(self, source: str, destination: Path) -> None:
        """Copy a file or a directory out of the build; it belongs to the caller afterwards."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Machine-dependent variables that never enter a key: jobs, cache directories."""
        ...

    def shell(self, command: Command) -> int:
        """Hand the terminal to the command; its exit code."""
        ...


class Store(Protocol):
    """Files by digest. What is in it is whole."""

    def get(self, sha256: str) -> Path | None:
        """The file, or None."""
        ...

    def add(self, source: Path, sha256: str) -> Path:
        """Take a copy in; FetchError(digest-mismatch) where the bytes are others."""
        ...

    def is_whole(self, sha256: str) -> bool:
        """Whether its bytes have the digest; what was found whole is not read again."""
        ...

    def root(self) -> Path:
        """The directory that is mounted read-only into a build."""
        ...


class Network(Protocol):
    """What can be fetched."""

    def fetch(self, artifacts: Sequence[Artifact], on_progress: Callable[[int, int, str], None]) -> None:
        """Bring each into the store; those there are not fetched again.

        `on_progress` takes bytes done, bytes in all (0: unknown) and the file's name.
        """
        ...


class Git(Protocol):
    """Git sources."""

    def fetch_commits(self, wanted: Sequence[tuple[str, str]], on_done: Callable[[int], None]) -> None:
        """Bring each commit, given by address and id, into the shared cache with all its objects.

        Those there are not fetched again. `on_done` takes the index of each that is there.
        """
        ...

    def cached(self, url: str, commit: str) -> Path | None:
        """The bare repository of the shared cache that holds the commit, or None; nothing is fetched."""
        ...

    def check_out_all(
        self, wanted: Sequence[tuple[Path, str, Path, str]], on_done: Callable[[int], None]
    ) -> None:
        """Work trees with their own ``.git``, submodules not included; none lies inside another one.

        Each is given by bare repository, commit, destination and address. `on_done` takes the index of each.
        """
        ...

    def apply_patch(self, tree: Path, patch: Path) -> None:
        """Apply strictly; StageError(patch-does-not-apply) with the patch's name and git's words."""
        ...


class Trees(Protocol):
    """Archives and directory trees, by way of the store."""

    def unpack(
        self, artifact: Artifact, destination: Path, *, strip: int = 0, only: str | None = None
    ) -> None:
        """Unpack a stored archive safely; the destination must not exist."""
        ...

    def member(self, artifact: Artifact, name: str) -> bytes:
        """One file of a stored archive, by its whole name in it."""
        ...

    def stored(self, sha256: str) -> Path:
        """A stored file, compared with its digest; FetchError where it is not there or not whole."""
        ...

    def only_wheel(self, folder: Path) -> Path:
        """The one wheel of a folder; StageError(wheel-missing) where there is none or several."""
        ...

    def file_digest(self, path: Path) -> str:
        """SHA-256 of a file."""
        ...

    def copy(self, source: Path, target: Path) -> str:
        """Copy by temp and rename; the digest of the bytes that arrived."""
        ...

    def write(self, path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write by temp and rename; directories above are made."""
        ...

    def read(self, path: Path) -> str | None:
        """The text of a file, what is not UTF-8 in it replaced; None where there is none."""
        ...

    def make(self, path: Path) -> None:
        """Make a directory and those above it, where they are missing."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, a link or a tree. What is not there is removed already."""
        ...

    def move(self, source: Path, target: Path) -> None:
        """Give a file or a tree another place on the same file system; directories above are made."""
        ...

    def merge(self, source: Path, target: Path) -> None:
        """Move what is below one directory into another, and the first directory away.

        StageError(parts-collide) where both have other bytes for a name; then nothing was moved.
        """
        ...

    def clone(self, source: Path, target: Path) -> None:
        """Copy a directory as it is, links as links, without what `digest` leaves out."""
        ...

    def outside_repositories(self, tree: Path) -> tuple[str, ...]:
        """Paths of a tree that would lead git to a repository elsewhere, sorted."""
        ...

    def lfs_pointers(self, tree: Path) -> tuple[str, ...]:
        """Files of a tree that only name what git-lfs would have put in their place, sorted."""
        ...

    def states(self, tree: Path) -> Mapping[str, str]:
        """Type, mode and digest of each file and link of a tree, by its path in it."""
        ...

    def bring_up(
        self, new: Path, kept: Path, before: Mapping[str, str], states: Mapping[str, str], aside: Path
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Move what changed since `before` from `new` into `kept`, where nothing else is touched.

        `before` and `states` are what `states` told of `kept` when it was laid, and of `new`.
        Returns paths that changed, that are gone, and that were edited and are `aside` now.
        """
        ...

    def digest(self, tree: Path) -> str:
        """Digest of a directory's contents: paths, types, exec bits, bytes; times do not count."""
        ...


class Records(Protocol):
    """What a workspace remembers of stages that are done."""

    def reuse(self, stage: str, key: StageKey, makes: Sequence[str]) -> StageResult | None:
        """The result of an earlier run with this key whose paths are all intact, or None."""
        ...

    def remember(self, stage: str, key: StageKey, makes: Sequence[str], result: StageResult) -> None:
        """Say that the stage is done, with each part of its key. The last thing that happens in a stage."""
        ...

    def forget(self, stage: str) -> None:
        """Make the stage run again."""
        ...

    def watch(self, stage: str, also: Sequence[str]) -> None:
        """From now on the stage is intact only while these paths, too, are what they are now.

        They take the place of those that were named before. A stage that is not recorded is left alone.
        """
        ...

    def key(self, stage: str) -> str | None:
        """The digest of the key under which the stage is recorded as done, or None."""
        ...

    def evidence(self, stage: str) -> Mapping[str, str]:
        """What the stage measured when it was recorded as done; empty where it is not."""
        ...


class Workspace(Protocol):
    """One build's directories."""

    @property
    def run(self) -> str:
        """Its name."""
        ...

    @property
    def path(self) -> Path:
        """All of it: root, logs, state, report."""
        ...

    @property
    def root(self) -> Path:
        """What is mounted at the build's fixed path."""
        ...

    @property
    def logs(self) -> Path:
        """Complete logs, one a stage."""
        ...

    def inside(self, path: str) -> Path:
        """Where a path of the build (``/torchbuild/…`` or with a placeholder) lies on this machine."""
        ...


class Reporter(Protocol):
    """Who hears of events."""

    def emit(self, event: Event) -> None:
        """Redact, then hand to each renderer."""
        ...


class Stopping(Protocol):
    """Whether somebody asked the build to stop before its end."""

    @property
    def reason(self) -> Reason:
        """Who asked; empty where nobody did."""
        ...

    def gently(self, mark: Path) -> AbstractContextManager[None]:
        """While the body runs, who asks first gets the file `mark` made and nothing ended."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """All that a stage may ask of the world."""

    workspace: Workspace
    executor: Executor
    store: Store
    network: Network
    git: Git
    trees: Trees
    records: Records
    reporter: Reporter
    recipe_dir: Path
    """The folder of the recipe: ``file:`` locators, patches and overlays lie in it."""
    publish_dir: Path
    """Where publish lays the wheel."""
    target: str | None = None
    """Stop after this CMake target or object path."""
    is_dev: bool = False
    """Whether the workspace is one that people edit in: its tree is brought up and not made anew."""
    allowed: tuple[str, ...] = ()
    """What of the network any run in this workspace was allowed: endpoints, ``open-network``, ``unknown``."""
    despite: tuple[str, ...] = ()
    """What any run in this workspace went on in spite of: preflights by reference, ``unknown``."""
    stopping: Stopping = field(default_factory=Unasked)
    """Whether it shall stop before its end."""
    distribute: Distribute | None = None
    """Machines that compile for this one; what they are is no part of what is built."""
