"""Names of patches out of a series that somebody else wrote."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import RecipeError
from torchbuild.resolve.series import checked_names


@pytest.mark.parametrize(
    "name", ["../x", "../../etc/shadow", "/etc/shadow", "a/../../x", "a\0b", "a\\b", "a\x1b[2J", ".."]
)
def test_a_series_names_nothing_outside_of_its_folder(name: str) -> None:
    """A series from a stranger reads no file of this machine, and its names break no terminal."""
    with pytest.raises(RecipeError) as caught:
        checked_names(["good.patch", name])

    assert caught.value.reference == "series-leaves-folder"


def test_names_below_the_folder_are_fine() -> None:
    """Patches may lie in folders of the series, and may be called almost anything."""
    names = ("0001-fix.patch", "debian/x.diff", "a/./b.patch", "a..b", "fix+1~2.patch")

    assert checked_names(iter(names)) == names


@given(st.text(max_size=20))
def test_what_passes_stays_inside(name: str) -> None:
    """Whatever the text: it is refused, or it lies below the folder."""
    try:
        (passed,) = checked_names([name])
    except RecipeError:
        return
    assert posixpath.normpath(posixpath.join("/folder", passed)).startswith("/folder")
