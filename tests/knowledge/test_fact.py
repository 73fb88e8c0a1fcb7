"""What all tables of facts share: one reader, one meaning of a range."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchbuild
from torchbuild.knowledge.fact import in_range

_PACKAGE = Path(torchbuild.__file__).parent


def test_one_place_alone_opens_the_tables() -> None:
    """What reads a table goes through `facts_file`: who asks for the tables that weigh on a check finds all."""
    readers = [path for path in _PACKAGE.rglob("*.py") if re.search(r'"data"', path.read_text("utf-8"))]

    assert [path.relative_to(_PACKAGE).as_posix() for path in readers] == ["knowledge/fact.py"]


@pytest.mark.parametrize(
    ("version", "wanted", "inside"),
    [
        ("2.13.0a0+git1", ">=2.13", True),
        ("2.12.1", ">=2.13", False),
        ("anything", "", True),
        ("no version", ">=1", False),
    ],
)
def test_a_range_means_the_same_in_every_table(version: str, wanted: str, inside: bool) -> None:
    """What is to become a release counts as it; an empty range is any; what cannot be read is in none."""
    assert in_range(version, wanted) is inside
