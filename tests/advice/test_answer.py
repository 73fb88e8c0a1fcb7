"""The answer to a wish: what can be asked of it, and what it cannot be."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.advice.answer import Advice, Choice, Cited, Conflict
from torchbuild.advice.wish import Wish

ASKED = Cited(table="wish", row="torch", says="torch 2.6 is asked for")
READ = Cited(
    table="cuda.release", row="12.4.1", says="it is a release", source="a list", checked="2026-11-30"
)
HEARD = READ.model_copy(update={"checked": "unconfirmed"})


def test_what_was_asked_for_needs_no_confirmation() -> None:
    """Only a row that nobody read is unconfirmed."""
    assert [item.is_confirmed for item in (ASKED, READ, HEARD)] == [True, True, False]


def test_a_conflict_is_between_two_facts() -> None:
    """One fact alone contradicts nothing, and no such conflict can be made."""
    made = Conflict(reference="gpu-unknown", what="it is not known", facts=(ASKED, READ), fix="Name another.")
    assert len(made.facts) == 2
    with pytest.raises(ValidationError, match="at least 2"):
        Conflict(reference="gpu-unknown", what="it is not known", facts=(ASKED,), fix="Name another.")


def test_a_value_is_found_by_its_key() -> None:
    """A key that is not chosen has no value, and no conflict means that there is something to build."""
    choice = Choice(key="cuda.version", value="12.4.1", why="it is asked for", facts=(READ,))
    advice = Advice(
        wish=Wish(torch="2.6"), choices=(choice,), notes=(), unconfirmed=(), conflicts=(), ways=()
    )
    assert (advice.value("cuda.version"), advice.value("nccl.version")) == ("12.4.1", "")
    assert advice.is_possible
