"""The policy of all values."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.frozen import Documented, Frozen, frozen_value


class Row(Frozen):
    """A value of ours."""

    size: int
    """How many."""


def test_a_value_does_not_change() -> None:
    """Who was handed a value can rely on it for good."""
    row = Row(size=1)

    with pytest.raises(ValidationError, match="frozen"):
        row.size = 2  # type: ignore[misc]


@pytest.mark.parametrize("table", [{"size": "1"}, {"size": 1.5}, {"size": True}, {"size": 1, "other": 2}, {}])
def test_nothing_is_converted_or_ignored(table: dict[str, object]) -> None:
    """A wrong type, an unknown key and a missing one are errors, not guesses."""
    with pytest.raises(ValidationError):
        Row.model_validate(table)


def test_a_field_documents_itself() -> None:
    """The text below a field is its description, from which pages and schema are made."""

    class Page(Documented):
        size: int
        """How many."""

    assert Page.model_fields["size"].description == "How many."


def test_a_frozen_value_holds_no_list() -> None:
    """What is decoded cannot be changed afterwards by whoever holds the table."""
    assert frozen_value({"a": [1, [2, {"b": [3]}]]}) == {"a": (1, (2, {"b": (3,)}))}
