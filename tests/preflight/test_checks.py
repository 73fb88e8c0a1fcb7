"""All preflights together, and what follows of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.preflight.stand_ins import CPU, CUDA, case, host
from torchbuild.preflight.checks import CHECKS, exit_code, in_the_way, preflights, refusal
from torchbuild.preflight.outcome import CONCERNS, failed

BAD = CUDA + '[target]\ndriver = "470"\n'


def test_every_concern_has_its_checks() -> None:
    """None is forgotten, and they come in one order."""
    assert tuple(CHECKS) == CONCERNS


def test_the_machine_alone_can_be_asked() -> None:
    """Without a recipe nothing of a recipe is judged, and a sound machine has no failure."""
    found = preflights(case())

    assert exit_code(found) == 0
    assert {item.outcome for rows in found.values() for item in rows} <= {"passed", "not run"}


def test_a_sound_recipe_on_a_sound_machine_has_no_failure() -> None:
    """Nothing is in the way of the build."""
    found = preflights(case(CUDA + '[target]\ndriver = ">=535"\ngpus = ["H100"]\n', facts=True))

    assert in_the_way(found) == ()
    assert exit_code(found) == 0


def test_the_exit_code_says_who_must_act() -> None:
    """4 where a recipe works nowhere; 6 where it does not work here; the recipe's first."""
    here = host(git="")

    assert exit_code(preflights(case(BAD, facts=True))) == 4
    assert exit_code(preflights(case(CPU, machine=here))) == 6
    assert exit_code(preflights(case(BAD, facts=True, machine=here))) == 4


def test_a_refusal_names_everything_and_the_first_thing_to_do() -> None:
    """One mends all in one go, or goes on by name."""
    wrong = in_the_way(preflights(case(BAD, facts=True, machine=host(git=""))))

    error = refusal(wrong)

    assert error.reference == "preflight-refused-recipe"
    assert error.exit_code == 4
    assert "[toolkit-newer-than-driver]" in error.why[0]
    assert "[git-here]" in error.why[-1]
    assert error.fix.endswith("--despite toolkit-newer-than-driver --despite git-here")
    assert refusal(in_the_way(preflights(case(CPU, machine=host(git=""))))).exit_code == 6


def test_what_cannot_be_overridden_is_not_offered() -> None:
    """An advice that the command line refuses is none: a lock would refuse that library whatever one says."""
    wrong = failed("library-header", "a header", seen="nothing", wanted="one", fix="Install it.")

    assert refusal((wrong,)).fix == "Install it."


def test_what_is_overridden_by_name_is_no_longer_in_the_way() -> None:
    """And nothing else with it."""
    found = preflights(case(BAD, facts=True, machine=host(git="")))

    assert [item.reference for item in in_the_way(found, ("toolkit-newer-than-driver",))] == ["git-here"]


def test_preflights_touch_nothing(nothing_moves: Callable[[], Any]) -> None:
    """They are given values and give values: no file, no process, no connection."""
    asked = case(BAD, facts=True)
    preflights(asked)  # reads the facts, once

    with nothing_moves():
        assert preflights(asked)
