"""Ways out that a person can take."""

from __future__ import annotations

from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def test_a_name_of_several_chips_is_answered_with_the_chips() -> None:
    """The owner of a GT 730 is offered its own chips that can work, and no other card."""
    ways = solve(Wish(torch="2.6", gpus=("GT 730",))).ways
    assert [way.what for way in ways] == ["sm_35 if GT 730 is that chip"]
    assert [way.wish.gpus for way in ways] == [("sm_35",)]


def test_a_library_without_code_for_a_chip_can_be_left_out() -> None:
    """What the fix says is a way that was tried."""
    ways = {way.what for way in solve(Wish(torch="2.4", gpus=("K80",), driver="470", cudnn="9.1.0.70")).ways}
    assert {"another cuDNN than 9.1.0.70", "a build without cuDNN"} <= ways


def test_a_name_of_which_all_chips_work_is_answered_with_all() -> None:
    """Each chip that the name may stand for is a way of its own."""
    ways = solve(Wish(torch="2.6", gpus=("TITAN X",), driver="535")).ways
    assert [way.wish.gpus for way in ways] == [("sm_52",), ("sm_61",)]
