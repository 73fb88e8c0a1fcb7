"""GPU code of what a build made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from torchbuild.inspection.gpu_code_build import device_objects, library_covers

DATA = Path(__file__).parents[1] / "data" / "gpu_code"
PLAIN = ("7.5", "9.0+PTX")


def lay(tree: Path, **objects: str) -> Path:
    """A build tree with copies of real objects."""
    for name, source in objects.items():
        path = tree / "caffe2" / f"{name}.cu.o"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / source, path)
    return tree


def test_objects_as_asked_pass_together(tmp_path: Path) -> None:
    """One line for a tree of hundreds."""
    (finding,) = device_objects(lay(tmp_path, Abs="12.4-plain.o", Loss="13.0-plain.o"), PLAIN)

    assert (finding.outcome, finding.seen) == ("passed", "2 objects as asked")


@pytest.mark.parametrize("archs", [("7.5", "8.0", "9.0+PTX"), ("7.5", "9.0"), ("9.0+PTX",)])
def test_an_object_for_other_chips_is_named(tmp_path: Path, archs: tuple[str, ...]) -> None:
    """What is missing, and what nobody asked for, is told with the object's place in the tree."""
    found = device_objects(lay(tmp_path, Abs="12.4-plain.o"), archs)

    assert {item.outcome for item in found} == {"failed"}
    assert "caffe2/Abs.cu.o" in found[0].what


def test_a_tree_without_device_objects_is_not_passed(tmp_path: Path) -> None:
    """A build that ended without any has not built what was asked for; one that stopped early may have none."""
    assert [item.outcome for item in device_objects(tmp_path, PLAIN)] == ["failed"]
    assert [item.outcome for item in device_objects(tmp_path, PLAIN, is_whole=False)] == ["not run"]


def test_what_is_no_object_is_told(tmp_path: Path) -> None:
    """A file that was cut off ends in a finding."""
    (tmp_path / "half.cu.o").write_bytes((DATA / "12.4-plain.o").read_bytes()[:100])

    found = device_objects(tmp_path, PLAIN)

    assert [item.reference for item in found] == ["gpu-code-readable"]
    assert found[0].outcome == "failed"


def test_a_library_runs_on_each_chip_or_is_refused(tmp_path: Path) -> None:
    """A library that is there twice by a link is read once."""
    shutil.copy(DATA / "13.0-library.so", tmp_path / "libx.so.2.1")
    (tmp_path / "libx.so.2").symlink_to("libx.so.2.1")

    good = library_covers(tmp_path, "libx.so.*", ("9.0",))
    bad = library_covers(tmp_path, "libx.so.*", ("5.0",))

    assert [item.outcome for item in good] == ["passed"]
    assert "failed" in {item.outcome for item in bad}
    assert [item.outcome for item in library_covers(tmp_path, "liby.so*", ("9.0",))] == ["failed"]


def test_what_was_built_here_holds_no_other_code(tmp_path: Path) -> None:
    """A makefile may add lists of its own."""
    shutil.copy(DATA / "13.0-library.so", tmp_path / "libx.so.2")

    (_, same) = library_covers(tmp_path, "libx.so.*", ("9.0",), ("sm_75", "sm_90"))
    (_, other) = library_covers(tmp_path, "libx.so.*", ("9.0",), ("sm_90",))

    assert (same.outcome, other.outcome) == ("passed", "failed")
