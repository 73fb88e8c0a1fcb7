"""What is known about interpreters."""

from __future__ import annotations

import pytest

from torchbuild.knowledge.interpreters import standalone_fact, torch_python


@pytest.mark.parametrize(
    ("release", "python", "promised", "tried"),
    [
        ("1.13.1", "3.10.13", True, False),
        ("1.13.1", "3.11.7", False, True),
        ("2.5.1", "3.13.0", False, True),
        ("2.6.0", "3.13.5", True, False),
        ("2.6.0", "3.14.0", False, False),
        ("2.8.0", "3.8.18", False, False),
        ("2.9.0a0", "3.14.0rc1", False, True),
        ("2.14.1", "3.14.8", True, False),
    ],
)
def test_a_release_is_for_some_interpreters(release: str, python: str, promised: bool, tried: bool) -> None:
    """Promised and experimental are two things; what leads to a release counts as the release."""
    fact = torch_python(release)

    assert fact is not None
    assert (fact.promises(python), fact.tries(python)) == (promised, tried)
    assert fact.source
    assert fact.checked


def test_what_was_not_read_of_a_release_is_not_confirmed() -> None:
    """Of 2.15 its metadata was read, which tells the oldest Python and no other."""
    fact = torch_python("2.15.0")

    assert fact is not None
    assert not fact.promises("3.10")
    assert fact.promises("3.11")
    assert fact.checked == "unconfirmed"


@pytest.mark.parametrize("release", ["1.4.0", "3.0"])
def test_of_a_release_that_nobody_read_nothing_is_said(release: str) -> None:
    """Neither too old nor too new ones are guessed."""
    assert torch_python(release) is None


def test_a_managed_interpreter_is_an_installation() -> None:
    """Of the kinds of archives that are published, those whose top is one."""
    fact = standalone_fact()

    assert fact.scheme == "python-build-standalone"
    assert set(fact.flavors) == {"install_only_stripped", "install_only"}
    assert fact.source
