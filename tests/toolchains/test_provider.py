"""What providers ask, and what they are told."""

from __future__ import annotations

from torchbuild.toolchains.provider import Answers, Questions


def test_a_provider_may_need_nothing() -> None:
    """A part of the builder asks nobody."""
    assert Questions() == Questions(wheels=(), documents=(), files=())
    assert Answers().files == {}
