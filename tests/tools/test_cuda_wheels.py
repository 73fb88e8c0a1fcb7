"""The table of wheels is made from what the index says."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

TOOL = Path(__file__).parents[2] / "tools" / "cuda_wheels.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script, as a module; what the tools share lies beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOL.parent))
        return loaded()


def loaded() -> ModuleType:
    """The script, imported."""
    spec = importlib.util.spec_from_file_location("cuda_wheels_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_of_the_meta_package_only_our_parts_for_this_machine_count(tool: ModuleType) -> None:
    """Other extras, other systems and parts that no torch needs are left out."""
    requires = [
        "nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux' or sys_platform == 'win32') and extra == 'all'",
        "nvidia-cublas==13.1.0.3.*; sys_platform == 'linux' and extra == 'cublas'",
        "nvidia-npp==13.0.1.2.*; sys_platform == 'linux' and extra == 'all'",
        "nvidia-cuda-nvcc==13.0.88.*; sys_platform == 'win32' and extra == 'all'",
        "nvidia-nvvm==13.0.88.*; sys_platform == 'linux' and platform_machine == 'aarch64' and extra == 'all'",
    ]

    assert set(tool.wanted(requires, "x86_64")) == {"nvidia-cublas"}
    assert set(tool.wanted(requires, "aarch64")) == {"nvidia-cublas", "nvidia-nvvm"}


def test_an_open_range_becomes_its_lowest_release(tool: ModuleType) -> None:
    """Newer meta packages leave nvjitlink open: the release's own is the lower bound."""
    assert tool.exact(Requirement("nvidia-nvjitlink<14,>=13.3.33")) == "nvidia-nvjitlink==13.3.33"
    assert tool.exact(Requirement("nvidia-nvvm==13.3.73.*")) == "nvidia-nvvm==13.3.73.*"


def test_a_row_is_what_pip_would_install(tool: ModuleType) -> None:
    """Names and versions of its report; the release has three numbers, whatever the meta package has."""
    report = {"install": [{"metadata": {"name": "nvidia-NVVM", "version": "13.0.88"}}]}

    text = tool.table("13.0.3.0", tool.pins(report))

    (row,) = tomllib.loads(text)["release"]
    assert row["version"] == "13.0.3"
    assert row["folder"] == "nvidia/cu13"
    assert row["wheels"] == {"nvidia-nvvm": "13.0.88"}
    assert "13.0.3.0" in row["source"]
