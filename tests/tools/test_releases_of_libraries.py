"""The table of library releases is made from what the index says."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "library_releases.py"
SAID = """nvidia-nccl-cu12 (2.27.3)
Available versions: 2.27.3, 2.26.2.post1, 2.26.2, 2.9.8
  INSTALLED: 2.26.2
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script, as a module; what the tools share lies beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOL.parent))
        return loaded()


def loaded() -> ModuleType:
    """The script, imported."""
    spec = importlib.util.spec_from_file_location("library_releases_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_releases_are_read_oldest_first(tool: ModuleType) -> None:
    """By number, not by letters."""
    assert tool.releases(SAID) == ("2.9.8", "2.26.2", "2.26.2.post1", "2.27.3")


def test_every_distribution_is_asked_once(tool: ModuleType) -> None:
    """However many layouts its wheels had."""
    asked = tool.asked()

    assert asked == tuple(sorted(set(asked)))
    assert ("nccl", "12", "nvidia-nccl-cu12") in asked


def test_a_row_is_as_it_is_stored(tool: ModuleType) -> None:
    """Each row of the stored table is what the script writes of its values, but for the day."""
    stored = tool.TABLE.read_text(encoding="utf-8")
    names = {(library, cuda): name for library, cuda, name in tool.asked()}

    for row in tomllib.loads(stored)["library"]:
        name = names[row["library"], row["cuda"]]
        made = tool.table(row["library"], row["cuda"], name, tuple(row["versions"]))
        assert made.rpartition("checked")[0] in stored
