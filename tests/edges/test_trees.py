"""Files and trees by way of the store: checked, whole, and with errors that say who must act."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.edges import store as edges_store
from torchbuild.edges import trees as edges_trees
from torchbuild.edges.atomic import sha256_of
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.trees import StoreTrees
from torchbuild.errors import FetchError, HostError, StageError
from torchbuild.model.artifact import Artifact

Put = Callable[[bytes], Artifact]


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """An empty store."""
    return DirectoryStore(tmp_path / "store")


@pytest.fixture
def trees(store: DirectoryStore) -> StoreTrees:
    """The edge on it."""
    return StoreTrees(store)


@pytest.fixture
def put(store: DirectoryStore, tmp_path: Path) -> Put:
    """Put bytes into the store."""

    def add(content: bytes) -> Artifact:
        source = tmp_path / "source"
        source.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        store.add(source, digest)
        return Artifact(locator="https://example.org/a.tar.gz", sha256=digest)

    return add


def packed(name: str, content: bytes) -> bytes:
    """An archive of one file."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def test_an_archive_is_unpacked_into_directories_that_are_made(
    trees: StoreTrees, put: Put, tmp_path: Path
) -> None:
    """Out of the store, by its digest."""
    trees.unpack(put(packed("top/a", b"x")), tmp_path / "far" / "tree", strip=1)

    assert (tmp_path / "far" / "tree" / "a").read_bytes() == b"x"


def test_one_member_is_read(trees: StoreTrees, put: Put) -> None:
    """By its whole name."""
    assert trees.member(put(packed("debian/patches/series", b"one\n")), "debian/patches/series") == b"one\n"


def test_a_member_that_is_not_there_is_said(trees: StoreTrees, put: Put) -> None:
    """With the name that was wanted."""
    with pytest.raises(FetchError) as caught:
        trees.member(put(packed("a", b"")), "b")

    assert caught.value.reference == "archive-member-missing"


def test_what_is_not_stored_is_said(trees: StoreTrees) -> None:
    """With the stage that brings it."""
    with pytest.raises(FetchError) as caught:
        trees.stored("0" * 64)

    assert caught.value.reference == "stored-file-gone"
    assert "without --from" in caught.value.fix


def test_a_stored_file_is_read_before_it_is_believed(store: DirectoryStore, put: Put) -> None:
    """Rot, or somebody's edit, is found out; what was whole once is not read again in the same run."""
    artifact = put(b"whole")
    path = store.get(artifact.sha256)
    assert path is not None
    known = StoreTrees(store)
    known.stored(artifact.sha256)
    path.chmod(0o644)
    path.write_bytes(b"rotten")

    assert known.stored(artifact.sha256) == path
    with pytest.raises(FetchError) as caught:
        StoreTrees(DirectoryStore(store.root())).unpack(artifact, path.parent / "tree")
    assert caught.value.reference == "stored-file-damaged"


@pytest.mark.parametrize("paranoid", [False, True])
def test_a_stored_file_is_read_once(
    store: DirectoryStore, put: Put, monkeypatch: pytest.MonkeyPatch, paranoid: bool
) -> None:
    """A toolkit has gigabytes: who trusts nothing reads them once a run as well."""
    artifact = put(b"whole")
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return sha256_of(path)

    for module in (edges_store, edges_trees):
        monkeypatch.setattr(module, "sha256_of", counted)
    ours = DirectoryStore(store.root(), paranoid=paranoid)
    assert ours.get(artifact.sha256) == StoreTrees(ours).stored(artifact.sha256)

    assert len(read) == 1


def test_the_one_wheel_is_found(trees: StoreTrees, tmp_path: Path) -> None:
    """Whatever else lies there."""
    (tmp_path / "a.whl").touch()
    (tmp_path / "a.txt").touch()

    assert trees.only_wheel(tmp_path) == tmp_path / "a.whl"


@pytest.mark.parametrize("names", [(), ("a.whl", "b.whl")])
def test_none_or_several_wheels_are_refused(
    trees: StoreTrees, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Nobody can say which one was meant."""
    for name in names:
        (tmp_path / name).touch()

    with pytest.raises(StageError) as caught:
        trees.only_wheel(tmp_path)

    assert caught.value.reference == "wheel-missing"


def test_a_copy_arrives_whole_with_its_digest(trees: StoreTrees, tmp_path: Path) -> None:
    """In a directory that is made, with nothing temporary left."""
    (tmp_path / "a").write_bytes(b"bytes")

    digest = trees.copy(tmp_path / "a", tmp_path / "far" / "b")

    assert digest == hashlib.sha256(b"bytes").hexdigest() == trees.file_digest(tmp_path / "far" / "b")
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["b"]


def test_a_copy_that_fails_leaves_nothing(trees: StoreTrees, tmp_path: Path) -> None:
    """And says so in our words."""
    with pytest.raises(HostError):
        trees.copy(tmp_path / "none", tmp_path / "far" / "b")

    assert list((tmp_path / "far").iterdir()) == []


@pytest.mark.parametrize("content", ["text é", b"\xff\x00"], ids=["text", "bytes"])
def test_what_is_written_is_there(trees: StoreTrees, tmp_path: Path, content: str | bytes) -> None:
    """Text or bytes, with the permissions asked for, whatever the umask."""
    trees.write(tmp_path / "far" / "a", content, mode=0o755)

    place = tmp_path / "far" / "a"
    assert place.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert place.stat().st_mode & 0o777 == 0o755


def test_reading_tells_nothing_from_a_text(trees: StoreTrees, tmp_path: Path) -> None:
    """A file that is not there is None; bytes that are no text are replaced."""
    (tmp_path / "a").write_bytes(b"ok \xff")

    assert trees.read(tmp_path / "a") == "ok \ufffd"
    assert trees.read(tmp_path / "b") is None


def test_reading_a_directory_is_an_error_of_ours(trees: StoreTrees, tmp_path: Path) -> None:
    """No OSError leaves the edge."""
    with pytest.raises(HostError):
        trees.read(tmp_path)


def test_what_is_removed_is_gone_whatever_its_permissions(trees: StoreTrees, tmp_path: Path) -> None:
    """And what is not there is removed already."""
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree").chmod(0o500)

    trees.remove(tmp_path / "tree")
    trees.remove(tmp_path / "tree")

    assert not (tmp_path / "tree").exists()


def test_a_move_makes_room(trees: StoreTrees, tmp_path: Path) -> None:
    """A tree gets another place, in directories that are made."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").touch()

    trees.move(tmp_path / "a", tmp_path / "far" / "b")

    assert (tmp_path / "far" / "b" / "x").exists()
    assert not (tmp_path / "a").exists()


def test_a_move_onto_what_is_there_is_an_error_of_ours(trees: StoreTrees, tmp_path: Path) -> None:
    """Nothing is mixed."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()

    with pytest.raises(HostError):
        trees.move(tmp_path / "a", tmp_path / "b")


def test_a_clone_is_the_same_tree(trees: StoreTrees, tmp_path: Path) -> None:
    """Links stay links, exec bits stay, and the digest says so."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run").write_text("x", encoding="utf-8")
    (tmp_path / "a" / "run").chmod(0o755)
    (tmp_path / "a" / "link").symlink_to("nowhere")

    trees.clone(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "b" / "link").readlink() == Path("nowhere")
    assert trees.digest(tmp_path / "a") == trees.digest(tmp_path / "b")


def test_a_clone_of_a_pipe_is_an_error_of_ours(trees: StoreTrees, tmp_path: Path) -> None:
    """What cannot be copied does not make us wait for ever."""
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "pipe")

    with pytest.raises(HostError):
        trees.clone(tmp_path / "a", tmp_path / "b")


def test_a_repository_does_not_count_as_content(trees: StoreTrees, tmp_path: Path) -> None:
    """When and how a tree was cloned is not what is in it."""
    (tmp_path / "a").write_text("x", encoding="utf-8")
    before = trees.digest(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").touch()

    assert trees.digest(tmp_path) == before
