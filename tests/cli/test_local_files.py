"""Files of the recipe, and of folders that the caller allows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchbuild.cli.local_files import LocalFiles, is_inside
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.artifact import Artifact


class Rest:
    """A network that only keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def fetch(self, artifacts: Sequence[Artifact], on_progress: Callable[[int, int, str], None]) -> None:
        """Nothing arrives."""
        self.asked += [item.locator for item in artifacts]


def file_at(path: Path, locator: str) -> Artifact:
    """A file with its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"patch")
    return Artifact(locator=locator, sha256=hashlib.sha256(b"patch").hexdigest())


def fetched(tmp_path: Path, artifact: Artifact, *allowed: Path) -> tuple[Path | None, list[str]]:
    """Where the file is in the store afterwards, and what the network was asked for."""
    (tmp_path / "recipe").mkdir()
    store, rest = DirectoryStore(tmp_path / "store"), Rest()
    LocalFiles(rest, store, tmp_path / "recipe", allowed).fetch((artifact,), lambda *_: None)
    return store.get(artifact.sha256), rest.asked


def test_a_file_of_an_allowed_folder_is_taken(tmp_path: Path) -> None:
    """Though it lies outside of the recipe's own."""
    artifact = file_at(tmp_path / "shared" / "fix.patch", "file:../shared/fix.patch")

    place, _ = fetched(tmp_path, artifact, tmp_path / "shared")

    assert place is not None
    assert place.read_bytes() == b"patch"


def test_any_other_is_for_the_network_to_refuse(tmp_path: Path) -> None:
    """What nobody allowed is not read here."""
    artifact = file_at(tmp_path / "secret" / "fix.patch", "file:../secret/fix.patch")

    place, asked = fetched(tmp_path, artifact, tmp_path / "shared")

    assert place is None
    assert asked == ["file:../secret/fix.patch"]


def test_a_link_out_of_an_allowed_folder_is_not_followed(tmp_path: Path) -> None:
    """What counts is where a file lies, not how it is called."""
    artifact = file_at(tmp_path / "secret" / "key", "file:../shared/fix.patch")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "fix.patch").symlink_to(tmp_path / "secret" / "key")

    place, _ = fetched(tmp_path, artifact, tmp_path / "shared")

    assert place is None


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    """The lock has its digest."""
    artifact = file_at(tmp_path / "shared" / "fix.patch", "file:../shared/fix.patch")
    (tmp_path / "shared" / "fix.patch").write_bytes(b"another")

    with pytest.raises(FetchError) as caught:
        fetched(tmp_path, artifact, tmp_path / "shared")

    assert caught.value.reference == "digest-mismatch"


def test_a_circle_of_links_is_an_error_of_ours(tmp_path: Path) -> None:
    """Not a crash."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(RecipeError) as caught:
        is_inside(tmp_path / "a" / "file", (tmp_path,))

    assert caught.value.reference == "recipe-path-circular"


def test_the_folder_itself_is_inside(tmp_path: Path) -> None:
    """A source may be the recipe's own folder; a folder with a longer name is another one."""
    (tmp_path / "tree-2").mkdir()

    assert is_inside(tmp_path / "tree" / "..", (tmp_path,))
    assert not is_inside(tmp_path / "tree-2", (tmp_path / "tree",))
