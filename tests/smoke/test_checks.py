"""The list of checks."""

from __future__ import annotations

import pytest

from torchbuild.smoke import checks


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.NAME)
def test_checks_have_one_shape(check: object) -> None:
    """Each check has a name, needs, and a way to run it."""
    assert check.__name__.rpartition(".")[2] == check.NAME
    assert isinstance(check.NEEDS, tuple)
    assert callable(check.run)
    assert check.__doc__


def test_names_are_unique() -> None:
    """A check is chosen by its name."""
    names = [check.NAME for check in checks.CHECKS]

    assert len(names) == len(set(names))
