"""What makes two rows one, and how rows are ordered, is declared once for every table."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.knowledge.declared import Table, declared_files, declared_tables, natural


@pytest.mark.parametrize(
    "texts",
    [
        ["12.4.0", "12.4.1", "12.10.0", "13.0.0"],
        ["90", "90a", "100", "100a", "100f"],
        ["GTX 980", "GTX 1080", "GTX 1080 Ti"],
        ["", "1"],
    ],
)
def test_numbers_in_a_text_are_numbers(texts: list[str]) -> None:
    """A release, an architecture and a name stand where a person looks for them."""
    assert sorted(_shuffled(texts), key=natural) == texts


def test_a_row_is_known_by_its_key_and_stands_by_its_order() -> None:
    """A range stands where it begins; one without a beginning is first; a list is compared item by item."""
    ranges = _table("host_compilers", "torch")
    rows = [{"torch": text} for text in ("<2.0", ">=2.0,<2.5", "==2.5.*", ">=2.13")]
    chips = [{"capabilities": sms, "name": "a"} for sms in ([30], [30, 50], [50])]

    assert sorted(_shuffled(rows), key=ranges.place_of) == rows
    assert sorted(_shuffled(chips), key=_table("gpus", "product").place_of) == chips
    assert ranges.key_of(rows[0]) == ("<2.0",)
    assert _table("host_compilers", "packages").key_of({"ids": ["a", "b"]}) == ('["a", "b"]', "")


def test_where_a_row_can_hide_another_is_known() -> None:
    """Rows by range, and rows without an order: the first that fits counts. By release, each is found."""
    assert _table("host_compilers", "nvcc").is_first_match
    assert _table("runfile_failures", "failure").is_first_match
    assert not _table("cuda", "release").is_first_match


def test_files_are_named_once() -> None:
    """In order, and without the file that declares them."""
    assert list(declared_files()) == sorted(set(declared_files()))
    assert "tables" not in declared_files()


def _shuffled(items: list[Any]) -> list[Any]:
    return [*items[1::2], *items[::2]]


def _table(file: str, table: str) -> Table:
    return next(item for item in declared_tables() if (item.file, item.table) == (file, table))
