"""Archives, files and directory trees, by way of the store; satisfies `torchbuild.context.Trees`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from torchbuild.context import Store
from torchbuild.edges import tree_sync
from torchbuild.edges.archive import called, read_member, unpack
from torchbuild.edges.atomic import remove_tree, sha256_of, temp_beside, translated, write_bytes
from torchbuild.edges.manifest import tree_digest
from torchbuild.edges.merged_tree import merge_tree
from torchbuild.edges.mounts import copy_over
from torchbuild.edges.tree_survey import lfs_pointers, outside_repositories
from torchbuild.errors import FetchError, StageError
from torchbuild.model.artifact import Artifact

__all__ = ["StoreTrees"]

_NOT_CONTENT = (".git",)
"""A repository's own files say when it was cloned, not what is in the tree."""


class StoreTrees:
    """Trees out of one store. Every OSError leaves here as a HostError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def unpack(
        self, artifact: Artifact, destination: Path, *, strip: int = 0, only: str | None = None
    ) -> None:
        """Unpack a stored archive safely; the destination must not exist."""
        self.make(destination.parent)
        stored = self.stored(artifact.sha256)
        with called(artifact.locator, stored):
            unpack(stored, destination, strip=strip, only=only)

    def member(self, artifact: Artifact, name: str) -> bytes:
        """One file of a stored archive.

        Raises:
            FetchError: ``archive-member-missing``, and as `stored`.
        """
        stored = self.stored(artifact.sha256)
        with called(artifact.locator, stored):
            content = read_member(stored, name, strip=0)
        if content is None:
            raise FetchError(
                "archive-member-missing",
                f"{artifact.name} does not hold {name}",
                why=f"wanted a member named {name}",
                fix="Correct the path in the recipe, then run `torchbuild lock`.",
            )
        return content

    def stored(self, sha256: str) -> Path:
        """A stored file, read once and compared with its digest.

        Raises:
            FetchError: ``stored-file-gone``, ``stored-file-damaged``.
        """
        path = self._store.get(sha256)
        if path is None:
            raise FetchError(
                "stored-file-gone",
                f"sha256 {sha256} is not in the store",
                why="seen nothing under this digest; fetch brings it",
                fix="Run the build again without --from: fetch brings back what is gone.",
            )
        if not self._store.is_whole(sha256):
            raise _damaged(path, sha256)
        return path

    def only_wheel(self, folder: Path) -> Path:
        """The one wheel of a folder.

        Raises:
            StageError: ``wheel-missing``.
        """
        wheels = sorted(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise StageError(
                "wheel-missing",
                "compile did not leave exactly one wheel",
                why=f"seen {', '.join(wheel.name for wheel in wheels) or 'none'}; wanted one",
                fix="Run the build again from compile: torchbuild build --from compile.",
            )
        return wheels[0]

    def file_digest(self, path: Path) -> str:
        """SHA-256 of a file."""
        return sha256_of(path)

    def copy(self, source: Path, target: Path) -> str:
        """Copy by temp and rename; the digest of what arrived."""
        self.make(target.parent)
        with translated(target):
            temp = temp_beside(target)
            try:
                shutil.copyfile(source, temp)
                digest = sha256_of(temp)
                temp.replace(target)
            finally:
                temp.unlink(missing_ok=True)
        return digest

    def write(self, path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write by temp and rename."""
        write_bytes(path, content.encode() if isinstance(content, str) else content, mode=mode)

    def read(self, path: Path) -> str | None:
        """The text of a file; None where there is none."""
        with translated(path):
            try:
                return path.read_text(encoding="utf-8", errors="replace")
            except FileNotFoundError:
                return None

    def make(self, path: Path) -> None:
        """Make a directory and those above it."""
        with translated(path):
            path.mkdir(parents=True, exist_ok=True)

    def remove(self, path: Path) -> None:
        """Remove a file, a link or a tree."""
        remove_tree(path)

    def move(self, source: Path, target: Path) -> None:
        """Give a file or a tree another place."""
        self.make(target.parent)
        with translated(target):
            source.replace(target)

    def merge(self, source: Path, target: Path) -> None:
        """Move what is below one directory into another; see `torchbuild.edges.merged_tree.merge_tree`."""
        merge_tree(source, target)

    def clone(self, source: Path, target: Path) -> None:
        """Copy a directory, less what its digest leaves out: repositories belong to their machine."""
        copy_over(source, target, without=_NOT_CONTENT)

    def outside_repositories(self, tree: Path) -> tuple[str, ...]:
        """Paths that lead git to a repository elsewhere."""
        return outside_repositories(tree)

    def lfs_pointers(self, tree: Path) -> tuple[str, ...]:
        """Files that git-lfs would have replaced."""
        return lfs_pointers(tree)

    def states(self, tree: Path) -> dict[str, str]:
        """Type, mode and digest of each file and link; see `torchbuild.edges.tree_sync.states_of`."""
        return tree_sync.states_of(tree)

    def bring_up(
        self, new: Path, kept: Path, before: Mapping[str, str], states: Mapping[str, str], aside: Path
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Changed, gone and set aside; see `torchbuild.edges.tree_sync.bring_up`."""
        done = tree_sync.bring_up(new, kept, before, states, aside)
        return done.changed, done.removed, done.set_aside

    def digest(self, tree: Path) -> str:
        """Digest of a directory's contents."""
        return tree_digest(tree, without=_NOT_CONTENT)


def _damaged(path: Path, sha256: str) -> FetchError:
    return FetchError(
        "stored-file-damaged",
        f"{path}: the store's file is not what its name says",
        why=(f"seen sha256 {sha256_of(path)}", f"wanted sha256 {sha256}"),
        fix="Run the build again with --paranoid: what is damaged in the store is fetched anew.",
    )
