"""The tables of facts themselves: what makes two rows one, how rows are ordered, which class reads them."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import import_module
from typing import Any, Literal

from torchbuild.knowledge.fact import own_file
from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["Key", "Row", "Table", "declared_files", "declared_tables", "natural"]

Row = dict[str, Any]
"""A row as it is written."""
Key = tuple[str, ...]
"""What makes two rows one: the text of each key column."""

_PIECE = re.compile(r"(\d+)")


class Table(Frozen):
    """One table of a file."""

    file: str
    """Such as ``gpus``, for ``gpus.toml``."""
    table: str
    """Such as ``product``; empty where each table of the file is a row."""
    shape: Literal["rows", "named", "one"]
    """``[[table]]``; ``[table.NAME]``; ``[table]``, a single row."""
    key: tuple[str, ...]
    """Columns by which a row is known; none where its name or place does that."""
    order: tuple[str, ...]
    """Columns by which rows are sorted; none where they stand as written."""
    ranges: tuple[str, ...]
    """Columns that hold ranges of releases."""
    row: str
    """The class of a row, such as ``gpus.GpuProduct``."""
    why: str
    """Why no user lays rows over it; empty where one may."""

    @property
    def title(self) -> str:
        """Such as ``gpus.product``."""
        return f"{self.file}.{self.table}" if self.table else self.file

    @property
    def is_first_match(self) -> bool:
        """Whether a row that stands further up can hide another: a range may overlap the next one."""
        return not self.order or bool(set(self.key) & set(self.ranges))

    def kind(self) -> type[Frozen]:
        """The class of a row."""
        module, _, name = self.row.partition(".")
        found = getattr(import_module(f"torchbuild.knowledge.{module}"), name)
        assert isinstance(found, type)  # noqa: S101  our own table
        assert issubclass(found, Frozen)  # noqa: S101
        return found

    def key_of(self, row: Row) -> Key:
        """What this row is known by; a column that it lacks is empty."""
        return tuple(_text(row.get(column, "")) for column in self.key)

    def place_of(self, row: Row) -> tuple[tuple[tuple[int, int, str], ...], ...]:
        """Where it stands among the others, by the declared columns."""
        return tuple(
            _place(_from(row.get(column, "")) if column in self.ranges else row.get(column, ""))
            for column in self.order
        )


@cache
def declared_tables() -> tuple[Table, ...]:
    """Every table of ours, in the order of its file's name."""
    return tuple(Table.model_validate(frozen_value(row)) for row in own_file("tables")["table"])


def declared_files() -> tuple[str, ...]:
    """The names of the files, each once, sorted."""
    return tuple(sorted({item.file for item in declared_tables()}))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """By numbers where there are numbers: ``12.9`` is before ``12.10``, ``90`` before ``90a`` and ``100``."""
    return tuple(
        (0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in _PIECE.split(text) if piece
    )


def _place(value: object) -> tuple[tuple[int, int, str], ...]:
    """Of a list, that of its items one after the other."""
    if isinstance(value, list | tuple):
        return tuple(piece for item in value for piece in natural(str(item)))
    return natural(str(value))


def _from(releases: str) -> str:
    """Where a range begins; nothing where it has no beginning."""
    begins = [part[2:] for part in releases.split(",") if part.startswith((">=", "=="))]
    return begins[0].removesuffix(".*") if begins else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
