"""The question that preflights are asked."""

from __future__ import annotations

from tests.preflight.stand_ins import CPU, CUDA, case, host
from torchbuild.model.host import Unseen


def test_an_image_is_another_builder() -> None:
    """Without one this machine builds."""
    assert case(CPU).builds_here
    assert not case(CPU + '[image]\nname = "b"\n').builds_here
    assert not case().builds_here


def test_cuda_is_what_the_recipe_asks_for() -> None:
    """Whatever this machine has."""
    assert case(CUDA).has_cuda
    assert not case(CPU).has_cuda


def test_why_something_was_not_seen_is_found_by_its_name() -> None:
    """Or by the name of its kind, where there are several."""
    asked = case(machine=host(unseen=(Unseen(what="interpreter /x", why="no answer"),)))

    assert asked.is_unseen("interpreter") == "no answer"
    assert asked.is_unseen("inter") == ""
    assert asked.disk("builds") is not None
    assert asked.disk("moon") is None
