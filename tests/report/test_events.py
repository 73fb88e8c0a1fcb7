"""Events are values that survive their way to a file."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from torchbuild.model.finding import Finding
from torchbuild.report.events import (
    Activity,
    Event,
    Found,
    Line,
    Progress,
    RunFinished,
    Running,
    RunStarted,
    StageFinished,
    StageStarted,
    Warned,
)

EVENTS: list[Event] = [
    RunStarted(run="r-1", recipe="r", stages=("fetch",), workspace="/w"),
    StageStarted(stage="fetch", log="l"),
    Progress(stage="fetch", done=1, total=2, unit="files", what="a"),
    Activity(stage="compile", edges=(Running(name="a.o", seconds=1.0),), running=1, jobs=2, memory=7),
    Line(stage="fetch", text="x"),
    Warned(stage="", reference="a-b", text="x"),
    Found(stage="fetch", finding=Finding(reference="a-b", outcome="not run", what="x")),
    StageFinished(stage="fetch", outcome="reused", seconds=0.0, summary="s"),
    RunFinished(run="r-1", outcome="done", seconds=1.0, wheel="w", report="p"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_survives_its_way_to_a_file(event: Event) -> None:
    """What a program reads from events.jsonl is what happened, and `kind` tells which event it is."""
    assert TypeAdapter(Event).validate_json(event.model_dump_json()) == event


def test_every_event_is_shown_by_an_example() -> None:
    """No event is added without being tried on each renderer."""
    assert {type(event) for event in EVENTS} == set(get_args(Event))


def test_each_kind_is_unique() -> None:
    """`kind` alone tells events apart."""
    assert len({event.kind for event in EVENTS}) == len(EVENTS)


def test_an_event_cannot_be_changed() -> None:
    """What was redacted stays redacted."""
    event = StageStarted(stage="fetch")

    with pytest.raises(ValidationError, match="frozen"):
        event.stage = "source"  # type: ignore[misc]
