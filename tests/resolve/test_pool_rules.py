"""What machines that compile for this one must be, beyond their shape."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.errors import RecipeError
from torchbuild.resolve.load import load_with_places

RECIPE = """\
schema = 1
name = "some"
[source]
git = "https://git.example/pytorch.git"
ref = "v2.6.0"
[wheel]
version = "2.6.0"
[machine.distribute]
"""

SCCACHE = 'engine = "sccache-dist"\nscheduler = "https://s.example"\n'


def problems(table: str) -> list[tuple[str, str]]:
    """Paths and what is wanted."""
    try:
        load_with_places("recipe.toml", lambda _: RECIPE + table)
    except RecipeError as error:
        found: Any = error.problems
        return [(item.path, item.wanted) for item in found]
    return []


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ('hosts = ["a"]', ""),
        ('engine = "icecc"\nscheduler = "s"\nhosts = ["10.0.0.1"]', ""),
        ('engine = "icecc"\nhosts = ["a"]', "icecc asks a scheduler"),
        ('scheduler = "s"\nhosts = ["a"]', "distcc has no scheduler"),
        ('hosts = ["a:70000"]', "a port below 65536"),
        (SCCACHE + 'hosts = ["10.0.0.1", "[fd00::5]:99"]\ntoken = "${WORD}"', ""),
        (SCCACHE + 'hosts = ["build1"]', "names its machines by address"),
        ('engine = "sccache-dist"\nhosts = ["10.0.0.1"]', "sccache-dist asks a scheduler"),
        ('hosts = ["a"]\ntoken = "${WORD}"', "distcc asks for no token"),
        ('engine = "icecc"\nscheduler = "https://s"\nhosts = ["a"]', "is no web server"),
    ],
)
def test_a_scheduler_goes_with_its_engine(table: str, wanted: str) -> None:
    """One too many or one too few is told before anything is fetched."""
    found = problems(table)

    assert [wanted in text for _, text in found] == ([True] if wanted else [])
