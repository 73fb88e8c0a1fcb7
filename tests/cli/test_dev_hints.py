"""What an error advises, for a dev build."""

from __future__ import annotations

import pytest

from torchbuild.cli.dev_hints import advise_dev
from torchbuild.errors import LockError


@pytest.mark.parametrize(
    ("fix", "wanted"),
    [
        ("Run `torchbuild lock` and look.", "Run `torchbuild lock --dev` and look."),
        ("torchbuild lock --adopt RECIPE", "torchbuild lock --dev --adopt RECIPE"),
        ("torchbuild lock --adopt --dev RECIPE", "torchbuild lock --adopt --dev RECIPE"),
        ("Make it: torchbuild image RECIPE.", "Make it: torchbuild image --dev RECIPE."),
        ("torchbuild build makes it too", "torchbuild build --dev makes it too"),
        ("torchbuild store gc, or torchbuild locks", "torchbuild store gc, or torchbuild locks"),
    ],
)
def test_commands_are_those_of_the_dev_build(fix: str, wanted: str) -> None:
    """Whoever follows the advice makes the lock that the build looked for; advised twice, it stays."""
    error = LockError("lock-stale", "stale", why="x", fix=fix)
    advise_dev(error)
    advise_dev(error)
    assert error.fix == wanted
