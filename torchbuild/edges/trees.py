"""Archives and directory trees, by way of the store; satisfies `torchbuild.context.Trees`."""

from __future__ import annotations

import shutil
from pathlib import Path

from torchbuild.context import Store
from torchbuild.edges.archive import read_member, unpack
from torchbuild.edges.atomic import sha256_of, temp_beside, translated, write_text
from torchbuild.edges.manifest import tree_digest
from torchbuild.errors import FetchError, StageError
from torchbuild.model.artifact import Artifact

__all__ = ["StoreTrees"]

_NOT_CONTENT = (".git",)
"""A repository's own files say when it was cloned, not what is in the tree."""


class StoreTrees:
    """Trees out of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def unpack(
        self, artifact: Artifact, destination: Path, *, strip: int = 0, only: str | None = None
    ) -> None:
        """Unpack a stored archive safely."""
        destination.parent.mkdir(parents=True, exist_ok=True)
        unpack(self.stored(artifact.sha256), destination, strip=strip, only=only)

    def member(self, artifact: Artifact, name: str) -> bytes:
        """One file of a stored archive."""
        content = read_member(self.stored(artifact.sha256), name, strip=0)
        if content is None:
            raise FetchError(
                "archive-member-missing",
                f"{artifact.name} does not hold {name}",
                why=f"wanted a member named {name}",
                fix="Correct the path in the recipe, then run `torchbuild lock`.",
            )
        return content

    def stored(self, sha256: str) -> Path:
        """A stored file."""
        path = self._store.get(sha256)
        if path is None:
            raise FetchError(
                "stored-file-gone",
                f"sha256 {sha256} is not in the store",
                why="seen nothing under this digest; fetch brings it",
                fix="Run the build again from fetch: torchbuild build --from fetch.",
            )
        return path

    def only_wheel(self, folder: Path) -> Path:
        """The one wheel of a folder."""
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
        with translated(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            temp = temp_beside(target)
            try:
                shutil.copyfile(source, temp)
                digest = sha256_of(temp)
                temp.replace(target)
            finally:
                temp.unlink(missing_ok=True)
        return digest

    def write(self, path: Path, text: str) -> None:
        """Write by temp and rename."""
        write_text(path, text)

    def digest(self, tree: Path) -> str:
        """Digest of a directory's contents."""
        return tree_digest(tree, without=_NOT_CONTENT)
