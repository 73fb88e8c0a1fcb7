"""Names for the linker: those that were asked for, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "torchbuild" / "shim" / "complete_blas.py"


def _complete(folder: Path, **request: Any) -> dict[str, list[str]]:
    asked = folder.parent / "request.json"
    asked.write_text(json.dumps({"folder": str(folder), **request}), encoding="utf-8")
    argv = [sys.executable, "-I", str(SCRIPT), str(asked)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    seen: dict[str, list[str]] = json.loads(done.stdout)
    return seen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Libraries as a wheel of MKL has them."""
    found = tmp_path / "lib"
    found.mkdir()
    for name in ("libmkl_core.so.3", "libmkl_gnu_thread.so.3", "libmkl_core.so.3.txt", "libiomp5.so"):
        (found / name).write_text("x", encoding="utf-8")
    return found


def test_only_what_is_asked_for_gets_a_name(folder: Path) -> None:
    """The other layers are there, and a linker does not find them."""
    seen = _complete(folder, links=["libmkl_core.so"])

    assert seen == {"made": ["libmkl_core.so -> libmkl_core.so.3"], "dropped": [], "missing": []}
    assert (folder / "libmkl_core.so").readlink() == Path("libmkl_core.so.3")
    assert not (folder / "libmkl_gnu_thread.so").exists()


def test_it_can_be_done_again(folder: Path) -> None:
    """Killed in the middle, or asked twice: the same names."""
    request = {
        "links": ["libmkl_core.so"],
        "aliases": {"libomp.so": "libiomp5.so"},
        "drop": ["libmkl_gnu_thread.so.3"],
    }
    first = _complete(folder, **request)
    (folder / "libomp.so").unlink()
    (folder / "libomp.so").symlink_to("nowhere")

    assert first["dropped"] == ["libmkl_gnu_thread.so.3"]
    assert _complete(folder, **request) == {
        "made": ["libomp.so -> libiomp5.so"],
        "dropped": [],
        "missing": [],
    }
    assert (folder / "libomp.so").read_text(encoding="utf-8") == "x"


def test_what_is_missing_or_twice_is_told(folder: Path) -> None:
    """A wheel of another layout fails here, not at the link of torch."""
    (folder / "libmkl_core.so.2").write_text("x", encoding="utf-8")
    seen = _complete(folder, links=["libmkl_core.so", "libmkl_rt.so"], aliases={"a.so": "b.so"})

    assert seen["made"] == []
    assert seen["missing"] == [
        "libmkl_core.so: seen libmkl_core.so.2 and libmkl_core.so.3, wanted one file",
        "libmkl_rt.so: seen nothing, wanted one file",
        "a.so: seen nothing, wanted one file",
    ]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Whatever is missing, there is an answer."""
    seen = _complete(tmp_path / "none", links=["libmkl_core.so"], drop=["../request.json"])

    assert seen["missing"] == ["libmkl_core.so: seen nothing, wanted one file"]
    assert (tmp_path / "request.json").is_file()
