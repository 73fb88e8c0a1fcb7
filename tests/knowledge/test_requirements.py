"""What a release of torch is built with."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from torchbuild.knowledge.requirements import bounds, numpy_fact, numpy_requirement


@pytest.mark.parametrize(
    ("release", "tag", "wanted"),
    [
        ("1.13.1", "cp310", "numpy>=1.21.2,<2"),
        ("2.2.2", "cp312", "numpy>=1.26.1,<2"),
        ("2.3.0", "cp312", "numpy>=2.0.0,<3"),
        ("2.4.1", "cp38", "numpy>=1.15,<2"),
        ("2.6.0", "cp313", "numpy>=2.1.0,<3"),
        ("2.14.1", "cp314", "numpy>=2.3.4,<3"),
        ("2.6.0", "cp399", "numpy>=2,<3"),
        ("2.0.1", "cp312", "numpy>=1,<2"),
        ("1.4.0", "cp38", ""),
    ],
)
def test_a_release_is_made_against_upstreams_numpy(release: str, tag: str, wanted: str) -> None:
    """Its pin is the floor and its ABI the ceiling; where nothing is known, nothing is asked for."""
    assert numpy_requirement(release, tag) == wanted


@pytest.mark.parametrize(
    ("release", "wanted"),
    [
        ("1.13.1", ("cmake<4", "cmake>=3.13", "setuptools<80")),
        ("2.6.0", ("cmake<4", "cmake>=3.18", "setuptools<80")),
        ("2.8.0", ("cmake>=3.27", "setuptools<80")),
        ("2.9.1", ("cmake>=3.27", "setuptools>=77,<82")),
        ("2.14.1", ("cmake>=3.27",)),
    ],
)
def test_a_front_end_has_bounds_that_its_tree_cannot_know(release: str, wanted: tuple[str, ...]) -> None:
    """An old tree asks for setuptools without a bound, and gets one that it does not work with."""
    assert bounds(release) == wanted
    assert [str(Requirement(text)) for text in wanted]


def test_a_row_says_where_it_is_from() -> None:
    """What nobody read is said to be that."""
    fact = numpy_fact("2.6.0")

    assert fact is not None
    assert (fact.checked, fact.source != "") == ("unconfirmed", True)
