"""What a workspace remembers, and when it no longer believes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchbuild.edges.records import StageRecords
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.model.stage import StageResult, stage_key

KEY = stage_key("toolchain", 1, {"cc": "gcc"})
MAKES = ("{venv}", "{shim}/ninja-real")
RESULT = StageResult(
    summary="Python 3.13",
    findings=(Finding(reference="toolchain-python", outcome="passed", what="version"),),
    evidence=(("version", "3.13.5"),),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[DirectoryWorkspace]:
    """One with what the stage toolchain makes."""
    with open_workspace(
        tmp_path / "builds", "run", store=tmp_path / "store", cache=tmp_path / "cache"
    ) as opened:
        for name in ("venv/bin/python", "venv/lib/module.py", "shim/ninja-real"):
            path = opened.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name, encoding="utf-8")
        yield opened


@pytest.fixture
def records(workspace: DirectoryWorkspace) -> StageRecords:
    """With the stage recorded."""
    made = StageRecords(workspace)
    made.remember("toolchain", KEY, MAKES, RESULT)
    return made


def test_a_stage_that_is_intact_is_reused_with_its_result(records: StageRecords) -> None:
    """Findings and evidence come back as they were."""
    assert records.reuse("toolchain", KEY, MAKES) == RESULT
    assert records.key("toolchain") == KEY.digest


def test_another_key_is_another_stage(records: StageRecords) -> None:
    """What was made for other inputs is not taken."""
    assert records.reuse("toolchain", stage_key("toolchain", 2, {"cc": "gcc"}), MAKES) is None


def test_a_stage_that_never_ran_is_not_done(records: StageRecords) -> None:
    """And has no key."""
    assert records.reuse("compile", KEY, ()) is None
    assert records.key("compile") is None


def test_what_is_forgotten_is_not_done(records: StageRecords) -> None:
    """The stage runs again."""
    records.forget("toolchain")

    assert records.reuse("toolchain", KEY, MAKES) is None


def edited(root: Path) -> None:
    """Same size, other bytes."""
    (root / "venv/lib/module.py").write_text("VENV/lib/module.py", encoding="utf-8")


def removed(root: Path) -> None:
    """One file of many."""
    (root / "venv/lib/module.py").unlink()


def grown(root: Path) -> None:
    """More bytes."""
    (root / "shim/ninja-real").write_text("another ninja", encoding="utf-8")


def opened_up(root: Path) -> None:
    """Another mode."""
    (root / "shim/ninja-real").chmod(0o777)


def linked(root: Path) -> None:
    """A link to the same bytes is not the file."""
    (root / "shim/ninja-real").rename(root / "shim/other")
    (root / "shim/ninja-real").symlink_to("other")


@pytest.mark.parametrize("change", [edited, removed, grown, opened_up, linked])
def test_what_was_changed_is_not_believed(
    workspace: DirectoryWorkspace, records: StageRecords, change: Callable[[Path], None]
) -> None:
    """Any change to what the stage made makes it run again."""
    change(workspace.root)

    assert records.reuse("toolchain", KEY, MAKES) is None


def test_a_new_time_stamp_alone_is_no_change(workspace: DirectoryWorkspace, records: StageRecords) -> None:
    """The file is read again, and its bytes count."""
    os.utime(workspace.root / "venv/lib/module.py", ns=(1, 1))

    assert records.reuse("toolchain", KEY, MAKES) == RESULT


def test_what_tools_write_while_they_look_is_no_change(
    workspace: DirectoryWorkspace, records: StageRecords
) -> None:
    """Byte code, git's index, and files that later stages add."""
    for name in ("venv/lib/__pycache__/module.pyc", "venv/.git/index", "venv/later.txt"):
        (workspace.root / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.root / name).touch()

    assert records.reuse("toolchain", KEY, MAKES) == RESULT


def test_paranoia_reads_what_looks_the_same(workspace: DirectoryWorkspace, records: StageRecords) -> None:
    """An edit that hides its time, size and inode is found by reading."""
    path = workspace.root / "venv/lib/module.py"
    before = path.stat()
    edited(workspace.root)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert records.reuse("toolchain", KEY, MAKES) == RESULT
    assert StageRecords(workspace, paranoid=True).reuse("toolchain", KEY, MAKES) is None


def test_a_record_that_watches_less_than_the_stage_makes_is_no_record(records: StageRecords) -> None:
    """Another version of the tool may have written it."""
    assert records.reuse("toolchain", KEY, (*MAKES, "{work}/inputs")) is None


def test_a_stage_cannot_claim_what_it_did_not_make(workspace: DirectoryWorkspace) -> None:
    """The claim is refused when it is made, not an hour later."""
    with pytest.raises(StageError) as caught:
        StageRecords(workspace).remember("compile", KEY, ("{dist}",), RESULT)

    assert caught.value.reference == "made-path-missing"


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1}', "[]", "\x00"])
def test_a_record_that_cannot_be_read_is_none(
    workspace: DirectoryWorkspace, records: StageRecords, text: str
) -> None:
    """A torn file makes the stage run again, and nothing worse."""
    (workspace.state / "toolchain.json").write_text(text, encoding="utf-8")

    assert records.reuse("toolchain", KEY, MAKES) is None
    assert records.key("toolchain") is None


def test_reasons_are_told_for_what_is_not_reused(
    workspace: DirectoryWorkspace, records: StageRecords
) -> None:
    """Each part of the key that changed, came or went, and each path with what became of it."""
    other = stage_key("toolchain", 2, {"cxx": "g++"})
    removed(workspace.root)

    assert [doubt.what for doubt in records.doubts("toolchain", other, MAKES)] == [
        "cc is gone",
        "cxx is new",
        "revision changed from 1 to 2",
        "venv/lib/module.py: it is gone",
    ]


def test_what_is_reused_leaves_no_doubt(records: StageRecords) -> None:
    """The question and the build cannot disagree: one answers for both."""
    assert records.doubts("toolchain", KEY, MAKES) == ()
    assert [doubt.kind for doubt in records.doubts("compile", KEY, ())] == ["record"]


def test_a_record_without_parts_still_counts(workspace: DirectoryWorkspace, records: StageRecords) -> None:
    """An older version's record is believed where its key is the same; else no part can be named."""
    record = workspace.recorded("toolchain")
    assert record is not None
    workspace.record("toolchain", record.key, record.result, record.manifest)

    assert records.reuse("toolchain", KEY, MAKES) == RESULT
    (doubt,) = records.doubts("toolchain", stage_key("toolchain", 2, None), MAKES)
    assert doubt == ("key", "its key changed; which part of it was not recorded")


# --- what lies outside of the build --------------------------------------------------------------------


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A compiler of this machine, behind two links, as distributions lay it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/g++-12").write_text("the compiler, release 12", encoding="utf-8")
    (tmp_path / "bin/g++-13").write_text("the compiler, release 13", encoding="utf-8")
    (tmp_path / "bin/g++").symlink_to("g++-12")
    (tmp_path / "bin/c++").symlink_to(tmp_path / "bin/g++")
    return tmp_path / "bin/c++"


def resting(workspace: DirectoryWorkspace, compiler: Path) -> StageRecords:
    """With a stage recorded that used the compiler."""
    made = StageRecords(workspace)
    made.remember("toolchain", KEY, MAKES, RESULT.model_copy(update={"rests_on": (str(compiler),)}))
    return made


def upgraded(folder: Path) -> None:
    """The package manager lays another file down under the same name."""
    (folder / "new").write_text("the compiler, release 12.1", encoding="utf-8")
    (folder / "new").replace(folder / "g++-12")


def switched(folder: Path) -> None:
    """The alternatives of the distribution point elsewhere."""
    (folder / "g++").unlink()
    (folder / "g++").symlink_to("g++-13")


def uninstalled(folder: Path) -> None:
    """It is gone."""
    (folder / "g++-12").unlink()


@pytest.mark.parametrize("change", [upgraded, switched, uninstalled])
def test_another_compiler_on_the_machine_makes_the_result_stale(
    workspace: DirectoryWorkspace, compiler: Path, change: Callable[[Path], None]
) -> None:
    """The key cannot know it, the file does: what was read back is no longer so."""
    records = resting(workspace, compiler)
    assert records.reuse("toolchain", KEY, MAKES) is not None

    change(compiler.parent)

    assert records.reuse("toolchain", KEY, MAKES) is None
    (doubt,) = records.doubts("toolchain", KEY, MAKES)
    assert doubt.what.startswith(f"{compiler.parent}/g++")


def test_the_same_compiler_unpacked_again_is_no_change(workspace: DirectoryWorkspace, compiler: Path) -> None:
    """A machine that is made anew for each job has other times and inodes, and the same bytes."""
    records = resting(workspace, compiler)
    (compiler.parent / "new").write_text("the compiler, release 12", encoding="utf-8")
    (compiler.parent / "new").replace(compiler.parent / "g++-12")
    os.utime(compiler, ns=(1, 1))

    assert records.reuse("toolchain", KEY, MAKES) is not None


def test_what_a_stage_measured_can_be_asked(records: StageRecords) -> None:
    """A later stage compares with what an earlier one saw; of a stage that is not done there is nothing."""
    assert records.evidence("toolchain") == {"version": "3.13.5"}
    assert records.evidence("compile") == {}


def test_a_stage_can_stand_for_what_a_later_one_went_on_with(
    workspace: DirectoryWorkspace, records: StageRecords
) -> None:
    """As long as it is named, it must be as it is now; named no more, it does not count."""
    place = workspace.root / "source" / "build"
    place.mkdir(parents=True)
    (place / "a.o").write_text("an object", encoding="utf-8")
    records.watch("toolchain", ("{source}/build",))
    assert records.reuse("toolchain", KEY, MAKES) == RESULT

    (place / "a.o").write_text("another", encoding="utf-8")
    doubts = records.doubts("toolchain", KEY, MAKES)
    records.watch("toolchain", ())

    assert [(doubt.kind, doubt.what.partition(":")[0]) for doubt in doubts] == [("path", "source/build/a.o")]
    assert records.reuse("toolchain", KEY, MAKES) == RESULT


def test_a_stage_that_is_not_done_stands_for_nothing(records: StageRecords) -> None:
    """It is not done by being watched."""
    records.watch("configure", ("{venv}",))

    assert records.key("configure") is None
