"""What a source says of itself when it is locked."""

from __future__ import annotations

import pytest

from torchbuild.cli.source_answers import series_names
from torchbuild.errors import RecipeError

SERIES = "# patches of Debian\nfirst.patch\n\nsecond.patch -p1  # upstream\n  third.patch\n"


def test_a_series_is_read_in_order() -> None:
    """Comments and empty lines are nobody's patches."""
    assert series_names(SERIES, ()) == ("first.patch", "second.patch", "third.patch")


def test_excluded_patches_are_left_out() -> None:
    """The recipe decides what of a distribution's patches it wants."""
    assert series_names(SERIES, ("second.patch",)) == ("first.patch", "third.patch")


def test_a_patch_that_is_excluded_and_not_there_is_said() -> None:
    """A series that was renumbered does not silently apply what nobody wants."""
    with pytest.raises(RecipeError) as caught:
        series_names(SERIES, ("sceond.patch",))

    assert caught.value.reference == "series-exclude-unknown"


def test_a_patch_with_other_options_is_said() -> None:
    """What would be applied in another way than asked is not applied at all."""
    with pytest.raises(RecipeError) as caught:
        series_names("odd.patch -p0\n", ())

    assert caught.value.reference == "series-option-unknown"
