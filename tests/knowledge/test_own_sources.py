"""The digest of the program's own sources."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import torchbuild
from torchbuild.knowledge.own_sources import sources_digest

PACKAGE = Path(torchbuild.__file__).parent
ASK = "from torchbuild.knowledge.own_sources import sources_digest as d; print(d('shim'), d('smoke', 'inspection'))"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package at another place."""
    without = shutil.ignore_patterns("__pycache__")  # which others write while we copy
    shutil.copytree(PACKAGE, tmp_path / "lib" / "torchbuild", ignore=without)
    return tmp_path / "lib"


def asked(place: Path) -> list[str]:
    """What a program that is installed at `place` says."""
    argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(place)!r}); {ASK}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=place.parent, timeout=60)
    return done.stdout.split()


def here() -> list[str]:
    """What this program says."""
    return [sources_digest("shim"), sources_digest("smoke", "inspection")]


def test_the_place_of_the_program_does_not_count(copy: Path) -> None:
    """A copy elsewhere is the same program: nothing is built again for it."""
    assert asked(copy) == here()


def test_a_program_in_a_zip_is_the_same_program(copy: Path, tmp_path: Path) -> None:
    """The sources are read as resources, wherever they lie."""
    packed = tmp_path / "program.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(copy.rglob("*")):
            archive.write(path, path.relative_to(copy).as_posix())
    shutil.rmtree(copy)

    assert asked(packed) == here()


def test_one_changed_line_is_another_program(copy: Path) -> None:
    """A gate that was corrected is not the gate that was run."""
    with (copy / "torchbuild/shim/gate.py").open("a", encoding="utf-8") as file:
        file.write("# corrected\n")

    shim, checks = asked(copy)

    assert shim != here()[0]
    assert checks == here()[1]


def test_a_new_module_is_another_program(copy: Path) -> None:
    """A check that was added has not been made."""
    (copy / "torchbuild/smoke/another.py").write_text("", encoding="utf-8")

    shim, checks = asked(copy)

    assert shim == here()[0]
    assert checks != here()[1]


def test_what_is_no_source_does_not_count(copy: Path) -> None:
    """Byte code and files that tools leave behind change nothing."""
    (copy / "torchbuild/shim/__pycache__").mkdir(exist_ok=True)
    (copy / "torchbuild/shim/__pycache__/gate.cpython-399.pyc").write_bytes(b"x")
    (copy / "torchbuild/shim/.gate.py.swp").write_bytes(b"x")

    assert asked(copy) == here()


def test_a_single_file_counts_by_its_content() -> None:
    """A table that a check reads is a part of the check."""
    table = "knowledge/data/platform_libraries.toml"

    assert sources_digest("inspection", table) == sources_digest(table, "inspection")
    assert sources_digest("inspection", table) != sources_digest("inspection")


def test_a_place_that_is_none_is_an_error() -> None:
    """A misspelt room would make every old result look fresh."""
    with pytest.raises(ValueError, match="shimm"):
        sources_digest("shimm")
