"""A workspace belongs to one build at a time, and says that a stage is done only when it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.edges import manifest as manifests
from torchbuild.edges.atomic import TEMP_PREFIX
from torchbuild.edges.workspace import DirectoryWorkspace, StageRecord, about, held, open_workspace
from torchbuild.errors import HostError, RecipeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.context import Workspace


def names(directory: Path) -> list[str]:
    """What lies there."""
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[DirectoryWorkspace]:
    """An open workspace."""
    store, cache = tmp_path / "store", tmp_path / "cache"
    with open_workspace(tmp_path / "builds", "run1", store=store, cache=cache, recipe="demo") as opened:
        yield opened


def reopen(tmp_path: Path, run: str = "run1") -> None:
    """What a second build does."""
    with open_workspace(tmp_path / "builds", run, store=tmp_path, cache=tmp_path):
        pass


def test_is_a_workspace(workspace: DirectoryWorkspace, tmp_path: Path) -> None:
    """Stages get what the contract promises, and every directory is there."""
    contract: Workspace = workspace
    assert (contract.run, contract.path) == ("run1", tmp_path / "builds/run1")
    assert contract.root.is_dir()
    assert contract.logs.is_dir()


def test_notes_its_recipe(workspace: DirectoryWorkspace, tmp_path: Path) -> None:
    """The list of workspaces can say what each is for."""
    assert about(workspace.path)["recipe"] == "demo"
    assert about(tmp_path) == {}


def test_recipe_is_remembered(tmp_path: Path) -> None:
    """A shell in a failed build does not make its recipe forgotten."""
    with open_workspace(tmp_path / "builds", "run1", store=tmp_path, cache=tmp_path, recipe="demo"):
        pass
    reopen(tmp_path)
    assert about(tmp_path / "builds/run1")["recipe"] == "demo"


# --- one at a time


def test_second_build_is_told_who_holds_it(workspace: DirectoryWorkspace, tmp_path: Path) -> None:
    """Two builds in one workspace: the second ends at once, and names the process to wait for."""
    with pytest.raises(HostError) as caught:
        reopen(tmp_path)
    assert caught.value.reference == "workspace-busy"
    assert str(os.getpid()) in caught.value.why[0]


def test_other_workspaces_are_free(workspace: DirectoryWorkspace, tmp_path: Path) -> None:
    """Two builds in two workspaces do not meet."""
    reopen(tmp_path, "run2")


HOLD = """
import sys
from pathlib import Path
from torchbuild.edges.workspace import open_workspace
base = Path(sys.argv[1])
with open_workspace(base, "run1", store=base, cache=base):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_killed_build_lets_go(tmp_path: Path) -> None:
    """A build that was killed holds nothing; while it lived, its own number was named."""
    argv = [sys.executable, "-c", HOLD, tmp_path / "builds"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(HostError) as caught:
            reopen(tmp_path)
        assert f"process {other.pid} " in caught.value.why[0]
        other.send_signal(signal.SIGKILL)
        other.wait()
        reopen(tmp_path)


def test_error_in_a_build_lets_go(tmp_path: Path) -> None:
    """However a build ends, the next one may begin."""
    with (
        pytest.raises(ZeroDivisionError),
        open_workspace(tmp_path / "builds", "run1", store=tmp_path, cache=tmp_path),
    ):
        _ = 1 / 0
    reopen(tmp_path)


def test_removed_workspace_is_not_ours(tmp_path: Path) -> None:
    """A lock of a workspace that was moved away meanwhile is worth nothing, and its end is quiet."""
    (tmp_path / "run1").mkdir()
    with held(tmp_path / "run1") as is_ours:
        assert is_ours
        (tmp_path / "run1").rename(tmp_path / "gone")
    with held(tmp_path / "gone") as is_ours:
        assert is_ours


@pytest.mark.parametrize("place", [".", "root", "root/shim", "state"])
def test_rests_of_a_killed_run_are_swept(place: str, tmp_path: Path) -> None:
    """What a killed build left half-written is gone before the next one looks."""
    reopen(tmp_path)
    left = tmp_path / "builds/run1" / place / f"{TEMP_PREFIX}x"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    reopen(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("run", ["", "..", "a/b", ".hidden", "a b", "x" * 300])
def test_names_are_plain(tmp_path: Path, run: str) -> None:
    """No name of a run can lead out of the directory of all workspaces."""
    with pytest.raises(UsageError) as caught:
        reopen(tmp_path, run)
    assert caught.value.reference == "name-invalid"
    assert names(tmp_path) == []


def test_base_that_is_a_file_is_named(tmp_path: Path) -> None:
    """Where no workspace can be made, the error names the place."""
    (tmp_path / "builds").touch()
    with pytest.raises(HostError) as caught:
        reopen(tmp_path)
    assert str(tmp_path / "builds/run1") in caught.value.what


# --- what is done


def test_record_is_what_was_recorded(workspace: DirectoryWorkspace) -> None:
    """What a stage made is read back as it was written, by the next run too."""
    (workspace.root / "file").write_text("x")
    manifest = manifests.take(workspace.root, ["file"])
    workspace.record("fetch", "key1", {"files": [1, 2]}, manifest)
    expected = StageRecord(stage="fetch", key="key1", result={"files": [1, 2]}, manifest=manifest)
    assert workspace.recorded("fetch") == expected
    assert workspace.recorded("compile") is None


def test_forgotten_stage_is_not_done(workspace: DirectoryWorkspace) -> None:
    """A stage that is to run again has no record, however often it is forgotten."""
    workspace.record("fetch", "key1", {}, manifests.Manifest())
    workspace.forget("fetch")
    workspace.forget("fetch")
    assert workspace.recorded("fetch") is None


GOOD = {"format": 1, "stage": "fetch", "key": "k", "result": {}, "manifest": []}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        "\udcff",
        json.dumps(GOOD)[:-5],
        json.dumps(GOOD | {"format": 2}),
        json.dumps(GOOD | {"stage": "compile"}),
        json.dumps(GOOD | {"key": 1}),
        json.dumps(GOOD | {"result": []}),
        json.dumps(GOOD | {"manifest": None}),
        json.dumps(GOOD | {"manifest": [["a"]]}),
    ],
    ids=range(13),
)
def test_damaged_record_is_none(workspace: DirectoryWorkspace, text: str) -> None:
    """A record that cannot be trusted means that the stage runs again."""
    (workspace.state / "fetch.json").write_text(text, errors="surrogateescape")
    assert workspace.recorded("fetch") is None


def test_good_record_is_read(workspace: DirectoryWorkspace) -> None:
    """The format is the one that older runs wrote."""
    (workspace.state / "fetch.json").write_text(json.dumps(GOOD))
    assert workspace.recorded("fetch") == StageRecord(
        stage="fetch", key="k", result={}, manifest=manifests.Manifest()
    )


def test_stage_names_are_plain(workspace: DirectoryWorkspace) -> None:
    """No stage's name can lead out of the state."""
    with pytest.raises(UsageError):
        workspace.recorded("../about")


# --- where things are


@pytest.mark.parametrize(
    ("asked", "below"),
    [
        ("/torchbuild", "builds/run1/root"),
        ("/torchbuild/x/y", "builds/run1/root/x/y"),
        ("{work}", "builds/run1/root"),
        ("{venv}/bin/python", "builds/run1/root/venv/bin/python"),
        ("{source}//./setup.py", "builds/run1/root/source/setup.py"),
        ("{store}/sha256/ab", "store/sha256/ab"),
        ("/torchbuild/store", "store"),
        ("{cache}/ccache", "cache/ccache"),
        ("{work}/storefront", "builds/run1/root/storefront"),
    ],
)
def test_inside_is_where_the_build_sees_it(
    workspace: DirectoryWorkspace, tmp_path: Path, asked: str, below: str
) -> None:
    """Placeholders and fixed paths lie in the workspace; the store and the cache where they are mounted from."""
    assert workspace.inside(asked) == tmp_path / below


@pytest.mark.parametrize(
    "asked",
    ["/etc/passwd", "", "source/x", "{work}/../x", "{store}/../..", "/torchbuild2/x", "x{work}/y", "/"],
)
def test_outside_is_refused(workspace: DirectoryWorkspace, asked: str) -> None:
    """What is no place of a build is refused, and named as it was written."""
    with pytest.raises(RecipeError) as caught:
        workspace.inside(asked)
    assert caught.value.reference == "path-outside-build"
    assert ascii(asked) in caught.value.what


@pytest.mark.parametrize("target", ["/etc", "../../../..", "..", "loop", "/torchbuild/../etc"])
def test_hostile_links_do_not_lead_out(workspace: DirectoryWorkspace, target: str) -> None:
    """A link of the source tree cannot make us write elsewhere on this machine."""
    (workspace.root / "loop").symlink_to("loop")
    (workspace.root / "link").symlink_to(target)
    with pytest.raises(RecipeError) as caught:
        workspace.inside("{work}/link/loop/file")
    assert caught.value.reference == "path-outside-build"


def test_links_are_followed_as_the_build_follows_them(workspace: DirectoryWorkspace, tmp_path: Path) -> None:
    """A link to a fixed path means the build's path, not this machine's; the last part is the link itself."""
    (workspace.root / "a/b").mkdir(parents=True)
    (workspace.root / "a/stored").symlink_to("/torchbuild/store/sha256")
    (workspace.root / "a/b/up").symlink_to("../b/.")
    (workspace.root / "a/b/python").symlink_to("/usr/bin/python3")
    assert workspace.inside("{work}/a/stored/x") == tmp_path / "store/sha256/x"
    assert workspace.inside("{work}/a/b/up/up/file") == workspace.root / "a/b/file"
    assert workspace.inside("{work}/a/b/python") == workspace.root / "a/b/python"
