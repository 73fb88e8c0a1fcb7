"""What a built torch's files say about how it was built, as rows."""

from __future__ import annotations

import re

from torchbuild.knowledge.flag_facts import flag_facts
from torchbuild.knowledge.libraries import library_names
from torchbuild.knowledge.likeness_signs import define_signs, library_signs, required_names, word_signs

PRINTED_ALONE = {"USE_MKL", "USE_MSLK"}
"""Switches that are no option that is known."""


def test_signs_are_of_known_switches() -> None:
    """A row for a switch that no tree has would never be used."""
    known = {row.name for row in flag_facts()} | PRINTED_ALONE
    found = {row.switch for row in (*define_signs(), *word_signs(), *library_signs())}

    assert found <= known, found - known


def test_libraries_are_those_of_a_recipe() -> None:
    """Each has a table, and each table has a row."""
    assert {row.name for row in library_signs()} == set(library_names())


def test_a_function_that_tells_says_how() -> None:
    """A name without a way to read it, or the reverse, is half a row."""
    for row in library_signs():
        assert bool(row.symbol) == bool(row.tells)


def test_headers_are_named_below_the_package() -> None:
    """No row leads out of it."""
    for row in define_signs():
        assert re.fullmatch(r"[A-Za-z]+(/[A-Za-z]+)*\.h", row.file)


def test_requirements_have_names() -> None:
    """Each role has some; a role that is none has none."""
    assert "triton" in required_names("triton")
    assert required_names("toolkit")
    assert required_names("nothing") == ()
