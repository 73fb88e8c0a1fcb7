"""What a tree's few telling files are, as they will be once all patches are applied."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.tree_files import moved_from, of_archive, of_commit, of_directory, patched
from torchbuild.errors import FetchError, StageError


def is_telling(name: str) -> bool:
    """The files of these tests."""
    return name.endswith((".toml", ".cmake"))


def diff(tmp_path: Path, before: dict[str, str], after: dict[str, str], *options: str) -> bytes:
    """What git says is between two trees."""
    for side, files in (("a", before), ("b", after)):
        (tmp_path / side).mkdir(exist_ok=True)
        for name, text in files.items():
            place = tmp_path / side / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    argv = ["git", "diff", "--no-index", "--no-prefix", *options, "a", "b"]
    return subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False).stdout


def test_files_of_a_commit_are_read_at_once(edge: GitEdge, upstream: Any) -> None:
    """Links are followed; names that are none, directories and submodules do not count."""
    (upstream.path / "also.toml").symlink_to("real.toml")
    (upstream.path / "lost.toml").symlink_to("nowhere")
    commit = upstream.commit({"real.toml": "x = 1\n", "empty.toml": "", "dir/y.cmake": "y\n"})
    bare = edge.fetch_commit(str(upstream.path), commit)

    found = of_commit(bare, commit, is_telling)

    assert found.texts == {
        "also.toml": b"x = 1\n",
        "dir/y.cmake": b"y\n",
        "empty.toml": b"",
        "real.toml": b"x = 1\n",
    }
    assert {"a.txt", "dir/b.sh", "lost.toml"} <= found.names
    with pytest.raises(FetchError):
        of_commit(bare, "0" * 40, is_telling)


def test_files_of_an_archive_are_read_in_one_pass(tmp_path: Path) -> None:
    """Below the leading parts that are taken away."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in ("top/a.toml", "top/sub/b.cmake", "top/c.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    (tmp_path / "x.tar.gz").write_bytes(stream.getvalue())

    found = of_archive(tmp_path / "x.tar.gz", is_telling, strip=1)

    assert found.texts == {"a.toml": b"top/a.toml", "sub/b.cmake": b"top/sub/b.cmake"}
    assert found.names == {"a.toml", "sub/b.cmake", "c.txt"}


def test_files_of_a_directory_do_not_lie_outside(tmp_path: Path) -> None:
    """A link that leads elsewhere is not read, nor is what git keeps for itself."""
    (tmp_path / "tree/.git").mkdir(parents=True)
    (tmp_path / "tree/.git/x.toml").write_text("x")
    (tmp_path / "out.toml").write_text("secret")
    (tmp_path / "tree/out.toml").symlink_to(tmp_path / "out.toml")
    (tmp_path / "tree/in.toml").write_text("in")

    found = of_directory(tmp_path / "tree", is_telling)

    assert found.texts == {"in.toml": b"in"}
    assert found.names == {"in.toml", "out.toml"}


def test_patches_reach_these_files_and_no_others(tmp_path: Path) -> None:
    """A patch that changes a hundred other files is applied to the one that is there."""
    patch = diff(
        tmp_path, {"x.toml": "one\n", "other.c": "int a;\n"}, {"x.toml": "two\n", "other.c": "int b;\n"}
    )

    assert patched({"x.toml": b"one\n", "y.toml": b"y"}, [("p.patch", patch)], is_telling) == {
        "x.toml": b"two\n",
        "y.toml": b"y",
    }


def test_patches_may_add_and_remove_such_files(tmp_path: Path) -> None:
    """In the order of the series: a later one may change what an earlier one added."""
    add = diff(tmp_path / "1", {}, {"new.toml": "n\n"}) if (tmp_path / "1").mkdir() is None else b""
    (tmp_path / "2").mkdir()
    change = diff(tmp_path / "2", {"new.toml": "n\n", "old.cmake": "o\n"}, {"new.toml": "m\n"})

    found = patched({"old.cmake": b"o\n"}, [("1.patch", add), ("2.patch", change)], is_telling)

    assert found == {"new.toml": b"m\n"}


def test_a_file_may_get_its_name_by_a_patch() -> None:
    """What it was called before is told beforehand, so that it is read."""
    patch = (
        b"diff --git a/sub/x.in b/x.toml\nsimilarity index 90%\nrename from sub/x.in\nrename to x.toml\n"
        b"--- a/sub/x.in\n+++ b/x.toml\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert moved_from([patch]) == {"sub/x.in"}

    found = patched({"sub/x.in": b"x\n"}, [("p.patch", patch)], is_telling)

    assert found == {"x.toml": b"y\n"}


def test_a_patch_that_does_not_fit_is_said_now(tmp_path: Path) -> None:
    """And not after everything else was fetched."""
    patch = diff(tmp_path, {"x.toml": "one\n"}, {"x.toml": "two\n"})

    with pytest.raises(StageError) as caught:
        patched({"x.toml": b"three\n"}, [("fix.patch", patch)], is_telling)

    assert caught.value.reference == "patch-does-not-apply"
    assert caught.value.what.startswith("fix.patch")


@pytest.mark.parametrize(
    "content", [b"", b"only words about x.toml\n", b"--- a/y.c\n+++ b/y.c\n@@ -1 +1 @@\n-a\n+b\n"]
)
def test_a_patch_of_other_files_is_left_aside(content: bytes) -> None:
    """Whatever it is: whether it fits is seen when the tree is laid."""
    assert patched({"x.toml": b"x"}, [("p.patch", content)], is_telling) == {"x.toml": b"x"}


@pytest.mark.parametrize("name", ["../out.toml", "/tmp/out.toml", "a/../../out.toml"])
def test_a_patch_does_not_write_elsewhere(tmp_path: Path, name: str) -> None:
    """Patches out of an archive are a stranger's."""
    patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n".encode()

    with pytest.raises(StageError):
        patched({}, [("p.patch", patch)], is_telling)
