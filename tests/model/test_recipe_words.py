"""The shapes of a recipe's words."""

from __future__ import annotations

import re

import pytest

from torchbuild.model.recipe_words import IMAGE, LOCAL, MODULE, PATTERNS


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_shape_is_told_in_words(pattern: str) -> None:
    """A person is not shown a regular expression."""
    assert re.compile(pattern)
    assert not PATTERNS[pattern].startswith("^")


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [(IMAGE, "localhost/builder:1", "Builder"), (LOCAL, "cu124", "CU124"), (MODULE, "torch", "2torch")],
)
def test_shapes_that_others_use_tell_good_from_bad(pattern: str, good: str, bad: str) -> None:
    """A name that an engine or an index would refuse is refused first."""
    assert re.fullmatch(pattern, good)
    assert not re.fullmatch(pattern, bad)
