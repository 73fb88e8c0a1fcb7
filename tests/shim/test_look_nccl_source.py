"""Whether an unpacked source of NCCL can be built where it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchains.library_samples import guest

MK = "NCCL_MAJOR   := 2\nNCCL_MINOR   := 29\nNCCL_PATCH   := 7\nNCCL_SUFFIX  :=\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source as its archives have it."""
    device = tmp_path / "source" / "src" / "device"
    device.mkdir(parents=True)
    for name in ("generate.py", "gen_rules.sh"):
        (device / name).write_text("#!/usr/bin/env python3\n")
        (device / name).chmod(0o755)
    (device / "data.py").write_text("x = 1\n")
    (tmp_path / "source" / "makefiles").mkdir()
    (tmp_path / "source" / "makefiles" / "version.mk").write_text(MK)
    return tmp_path / "source"


def test_a_whole_source(source: Path, tmp_path: Path) -> None:
    """Scripts are executable, something starts there, and the version is read; nothing is left behind."""
    request = {"source": str(source), "build": str(tmp_path / "build")}

    seen = guest("look_nccl_source.py", request, tmp_path)

    assert seen == {
        "scripts": {"device/gen_rules.sh": True, "device/generate.py": True},
        "starts": {str(source): True, str(tmp_path / "build"): True},
        "version": "2.29.7",
    }
    assert list((tmp_path / "build").iterdir()) == []


def test_a_lost_bit_is_told(source: Path, tmp_path: Path) -> None:
    """By the mode, also where root asks."""
    (source / "src" / "device" / "generate.py").chmod(0o644)

    seen = guest("look_nccl_source.py", {"source": str(source), "build": ""}, tmp_path)

    assert seen["scripts"]["device/generate.py"] is False


@pytest.mark.parametrize("text", ["", "NCCL_MAJOR := x\n", MK.replace("29", "9" * 40), "\x00\xff"])
def test_a_version_that_is_none(text: str, source: Path, tmp_path: Path) -> None:
    """Empty, and no traceback."""
    (source / "makefiles" / "version.mk").write_text(text)

    assert guest("look_nccl_source.py", {"source": str(source), "build": ""}, tmp_path)["version"] == ""


def test_nothing_there(tmp_path: Path) -> None:
    """No source, and a place that cannot be written to."""
    (tmp_path / "file").write_text("")
    request = {"source": str(tmp_path / "none"), "build": str(tmp_path / "file" / "below")}

    seen = guest("look_nccl_source.py", request, tmp_path)

    assert seen["scripts"] == {}
    assert seen["starts"][str(tmp_path / "file" / "below")] is False
    assert "error" in guest("look_nccl_source.py", [], tmp_path)  # type: ignore[arg-type]  # hostile
