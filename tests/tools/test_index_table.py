"""A table that a tool keeps equal to the Python index."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, as a script in the tools' folder finds it."""
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("index_table")


@pytest.mark.parametrize("name", ["cuda_wheels", "library_releases"])
def test_a_table_that_was_just_written_is_what_the_index_says(
    kept: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """The check compares facts and not how a file ends, so that nobody writes a table anew for nothing."""
    whole = (kept.DATA / f"{name}.toml").read_text(encoding="utf-8")
    table = tmp_path / "table.toml"
    table.write_text(whole, encoding="utf-8")
    first = "[[release]]" if name == "cuda_wheels" else "[[library]]"
    rows = first + whole.partition(first)[2]
    monkeypatch.setattr(sys, "argv", ["tool", "--check"])

    assert kept.keep_table("", table, first, lambda: rows + "\n") == 0
    assert kept.keep_table("", table, first, lambda: rows + "\n[[more]]\n") == 1


def test_a_table_that_is_not_is_written_in_its_own_form(
    kept: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What stands before the rows was written by hand, and stays."""
    table = tmp_path / "table.toml"
    table.write_text("# by hand\n[[row]]\na = 1\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tool"])

    assert kept.keep_table("", table, "[[row]]", lambda: "[[row]]\na = 2\n\n") == 0
    assert table.read_text(encoding="utf-8") == "# by hand\n[[row]]\na = 2\n"
