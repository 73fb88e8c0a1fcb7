"""Each preventable report of a failed build, by its number, and that each check is what prevents its own."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from torchbuild.toolchains import (
    blas_proof,
    cuda_proof,
    host_compiler_proof,
    library_proof,
    openmp_proof,
    python_proof,
    runfile_proof,
)

HERE = Path(__file__).parent
MODULES: list[ModuleType] = [
    importlib.import_module(f"tests.reports.{path.stem}") for path in sorted(HERE.glob("reports_*.py"))
]
ENTRIES = {number: entry for module in MODULES for number, entry in module.ENTRIES.items()}
PREVENTIONS = {name: (module, remove) for module in MODULES for name, remove in module.PREVENTIONS.items()}
PROOFS = (
    blas_proof,
    cuda_proof,
    host_compiler_proof,
    library_proof,
    openmp_proof,
    python_proof,
    runfile_proof,
)
LATER = {number: why for module in MODULES for number, why in getattr(module, "LATER", {}).items()}
CHAPTERS = {
    "B": (1, 2, 3, 4, 6, 8, 9, 10, 11, 12),
    "C": (1, 2, 3, 5, 6, 7, 8, 9),
    "D": (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15),
    "E": (1, 2, 3, 4, 5),
    "F": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "S": (1, 2, 4, 6, 7, 8, 9, 10, 11),
}
"""The reports of each chapter, as they were collected."""


@pytest.fixture(autouse=True)
def _tables_as_they_were() -> Iterator[None]:
    """A check that was taken out comes back at the end of its table; others count on the order."""
    tables: list[dict[str, Any]] = [dict_of(module) for module in PROOFS]
    before = [dict(table) for table in tables]
    yield
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)


def dict_of(module: ModuleType) -> dict[str, Any]:
    """A proof's table of checks, which is a dictionary behind its type."""
    table: dict[str, Any] = module.CHECKS
    return table


def _order(number: str) -> tuple[str, int]:
    head = number.partition("-")[0]
    return head[0], int(head[1:] or 0)


@pytest.mark.parametrize("number", sorted(ENTRIES, key=_order))
def test_report(number: str, tmp_path: Path) -> None:
    """The trap is set up as it was reported, and noticed before an hour is spent."""
    ENTRIES[number].run(tmp_path)


@pytest.mark.parametrize("name", sorted(PREVENTIONS))
def test_without_a_check_exactly_its_reports_come_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that could be removed without anybody noticing proves nothing."""
    module, remove = PREVENTIONS[name]
    remove(monkeypatch)

    back = set()
    for number, entry in module.ENTRIES.items():
        folder = tmp_path / number
        folder.mkdir()
        try:
            entry.run(folder)
        except AssertionError:
            back.add(number)

    assert back == {number for number, entry in module.ENTRIES.items() if name in entry.prevented_by}
    assert back


def test_every_report_is_prevented_or_has_its_place() -> None:
    """No report of these chapters is forgotten: it is prevented here, or said where it will be."""
    numbers = {f"{chapter}{number}" for chapter, rows in CHAPTERS.items() for number in rows}
    here = {number.partition("-")[0] for number in ENTRIES}

    assert numbers - here - set(LATER) == set()
    assert here.isdisjoint(LATER)


def test_each_report_names_what_prevents_it() -> None:
    """And nothing that is not there; no number stands in two modules."""
    for number, entry in ENTRIES.items():
        assert entry.promise, number
        assert entry.prevented_by, number
        assert set(entry.prevented_by) <= set(PREVENTIONS), number
    assert len(ENTRIES) == sum(len(module.ENTRIES) for module in MODULES)
