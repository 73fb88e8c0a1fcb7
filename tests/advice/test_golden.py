"""Questions that people ask, with answers that were derived by hand from what is known: see `golden/README.md`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.advice.checker import names_two_facts, violations
from tests.advice.golden_question import Question, differences, questions
from tests.advice.raw_facts import matching_rows, wish_row
from torchbuild.advice.solve import solve

QUESTIONS = questions()
_EACH = pytest.mark.parametrize(
    "question", QUESTIONS, ids=[f"{item.theme}-{item.name}" for item in QUESTIONS]
)


@_EACH
def test_the_answer_is_the_one_that_the_facts_force(question: Question) -> None:
    """Whoever asks gets the toolkit, the architectures and the libraries that can work, or why none can and what would."""
    found = differences(question, solve(question.wish))

    assert not found, "\n".join([question.ask, *found])


@_EACH
def test_the_answer_keeps_every_constraint(question: Question) -> None:
    """What is called possible is, to a checker that shares no code; so is every way out; a refusal names two facts."""
    advice = solve(question.wish)

    assert violations(question.wish, advice) == []
    assert [item.reference for item in advice.conflicts if not names_two_facts(item)] == []
    for way in advice.ways:
        assert violations(way.wish, advice.model_copy(update={"choices": way.choices, "conflicts": ()})) == []


@_EACH
def test_the_deciding_facts_are_in_the_tables(question: Question) -> None:
    """An answer that was derived from a row falls with that row."""
    assert len(question.facts) == 2
    for fact in question.facts:
        assert fact["says"]
        if fact["table"] == "wish":
            assert wish_row(fact["row"])
        else:
            assert matching_rows(fact["table"], fact["row"]), fact


def test_every_question_is_asked_once() -> None:
    """A name means one question, and no two ask the same."""
    assert [name for name, many in Counter(item.name for item in QUESTIONS).items() if many > 1] == []
    assert [wish for wish, many in Counter(item.wish for item in QUESTIONS).items() if many > 1] == []


def test_every_kind_of_conflict_is_asked_for() -> None:
    """Each way in which the facts forbid a wish has at least one question."""
    asked = {name for item in QUESTIONS for name in (*item.references, *item.either)}

    assert asked == {
        "builder-newer-than-target",
        "chips-share-no-toolkit",
        "compiler-outside-toolkit",
        "cuda-release-unknown",
        "cudnn-lacks-chip",
        "driver-dropped-chip",
        "driver-older-than-chip",
        "gpu-unknown",
        "headers-contradict",
        "jetpack-lacks-toolkit",
        "kernel-modules-wrong",
        "nccl-lacks-chip",
        "python-outside-torch",
        "target-glibc-too-old",
        "toolkit-newer-than-driver",
        "toolkit-unaware-of-chip",
        "torch-refuses-toolkit",
        "torch-release-unknown",
        "torch-unaware-of-chip",
    }
