"""Machines that compile for this one, on paper."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from torchbuild.model.recipe import Machine
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import (
    asked_members,
    judged,
    members,
    reached,
    scheduler,
    used,
)


def asked(*hosts: str, **more: Any) -> Distribute:
    """As in a recipe."""
    return Distribute(hosts=hosts, **more)


@pytest.mark.parametrize(
    ("text", "endpoint", "slots"),
    [
        ("build1", "build1:3632", 4),
        ("build1.example/16", "build1.example:3632", 16),
        ("10.0.0.5:4000", "10.0.0.5:4000", 4),
        ("[fd00::5]:4000/2", "[fd00::5]:4000", 2),
        ("[fd00::5]", "[fd00::5]:3632", 4),
    ],
)
def test_a_machine_is_named_as_one_would(text: str, endpoint: str, slots: int) -> None:
    """Host alone, with a port, with a number of slots, with both."""
    assert members(asked(text)) == ((endpoint, slots),)


def test_a_machine_counts_once() -> None:
    """With the slots that it was given first."""
    assert members(asked("a/2", "a:3632/9", "b")) == (("a:3632", 2), ("b:3632", 4))


@pytest.mark.parametrize("text", ["", "tcp://a", "a:b", "a/0", "a:0", "a b", "@a", "a,lzo", "a:1:2"])
def test_what_is_no_machine_is_refused(text: str) -> None:
    """With the shape that is wanted, before anything else happens."""
    with pytest.raises(ValidationError):
        asked(text)


def test_a_build_may_reach_its_machines_and_its_endpoints_alone() -> None:
    """What is named in report and provenance is the same list."""
    machine = Machine(endpoints=("cache:6379", "a:3632"), distribute=asked("a", "b"))

    assert reached(machine) == ("cache:6379", "a:3632", "b:3632")
    assert reached(Machine()) == ()


def test_only_machines_with_our_objects_are_used() -> None:
    """The others are told with both compilers, or with why they are silent."""
    seen = {
        "program": "",
        "hosts": {
            "a:3632": {"outcome": "same", "own": "GCC 14", "seen": "GCC 14"},
            "b:3632": {"outcome": "differs", "own": "GCC 14", "seen": "GCC 12"},
            "c:3632": {"outcome": "differs", "own": "GCC 14", "seen": "GCC 14"},
            "d:3632": {"outcome": "silent", "own": "GCC 14", "seen": "connection refused"},
        },
    }

    usable, findings = judged(asked("a", "b", "c", "d", "e"), seen)

    assert usable == (("a:3632", 4),)
    assert [(item.reference, item.outcome) for item in findings] == [
        ("pool-compiler", "passed"),
        ("pool-compiler", "warned"),
        ("pool-compiler", "warned"),
        ("pool-silent", "warned"),
        ("pool-silent", "warned"),
    ]
    assert (findings[1].seen, findings[1].wanted) == ("GCC 12", "GCC 14")
    assert findings[2].seen == "GCC 14, and another object: its assembler or its settings differ"


@pytest.mark.parametrize("seen", [None, [], {"program": "distcc: not there, or no program", "hosts": {}}])
def test_without_the_program_all_is_compiled_here(seen: Any) -> None:
    """One finding, with the package that is missing."""
    usable, (finding,) = judged(asked("a", "b"), seen)

    assert usable == ()
    assert (finding.reference, finding.outcome) == ("pool-program", "warned")
    assert "distcc" in finding.wanted


def test_what_became_of_them_is_told() -> None:
    """Who did all, who gave something back and why, who was never asked, and what stayed here."""
    told = {
        "hosts": {
            "a:1": {"sent": 5, "done": 5, "back": 0, "why": {}},
            "b:1": {"sent": 3, "done": 1, "back": 2, "why": {"refused": 2}},
            "c:1": {"sent": 0, "done": 0, "back": 0, "why": {}},
        },
        "stayed": {"nvcc": 7, "not one source": 1},
    }

    findings = used(json.dumps(told))

    assert [(item.reference, item.outcome) for item in findings] == [
        ("pool-used", "passed"),
        ("pool-used", "warned"),
        ("pool-used", "warned"),
        ("pool-stayed", "passed"),
    ]
    assert "2 times: refused" in findings[1].seen
    assert findings[3].seen == "1 not one source, 7 device code (nvcc)"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"hosts": 1}', '{"hosts": {"a": {}}}'])
def test_what_nobody_wrote_is_nothing(text: str | None) -> None:
    """A build that ended before, or something else in the file's place."""
    assert used(text) == ()


def test_a_scheduler_stands_for_all_its_machines() -> None:
    """Their slots are added up; each of them may be reached, and the scheduler too."""
    distribute = asked("10.0.0.1/8", "10.0.0.2", engine="icecc", scheduler="sched")

    assert scheduler(distribute) == "sched:8765"
    assert asked_members(distribute) == (("sched:8765", 12),)
    assert reached(Machine(distribute=distribute)) == ("sched:8765", "10.0.0.1:10245", "10.0.0.2:10245")


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("sched", "sched:10600"),
        ("sched:1", "sched:1"),
        ("http://sched", "sched:80"),
        ("https://sched.example.org", "sched.example.org:443"),
        ("https://[fd00::5]:8443", "[fd00::5]:8443"),
    ],
)
def test_a_scheduler_of_sccache_may_be_a_web_server(text: str, endpoint: str) -> None:
    """A build is let through to its port, and to its machines by their addresses."""
    distribute = asked("10.0.0.1/8", engine="sccache-dist", scheduler=text)

    assert scheduler(distribute) == endpoint
    assert reached(Machine(distribute=distribute)) == (endpoint, "10.0.0.1:10501")


@pytest.mark.parametrize("token", ["secret", "$TOKEN", "${A B}", "x${A}"])
def test_a_token_itself_never_stands_in_a_recipe(token: str) -> None:
    """Recipes are kept where others read them."""
    with pytest.raises(ValidationError):
        asked("10.0.0.1", engine="sccache-dist", scheduler="s", token=token)


def test_a_pool_that_was_never_served_is_told() -> None:
    """Its machines were right when they were looked at, and compiled nothing."""
    (finding,) = used(json.dumps({"hosts": {}, "stayed": {}, "by": {}, "unserved": "iceccd: refused"}))

    assert (finding.reference, finding.outcome) == ("pool-used", "warned")
    assert (finding.seen, finding.what) == (
        "iceccd: refused",
        "no machine was sent anything: all was compiled here",
    )


def test_who_compiled_behind_a_scheduler_is_told_where_the_engine_counts() -> None:
    """The scheduler alone knows who it chose; sccache's client learns it."""
    row = {"sent": 5, "done": 5, "back": 0, "why": {}}
    told = {"hosts": {"s:1": row}, "stayed": {}, "by": {"10.0.0.2:10501": 3, "10.0.0.1:10501": 2}}

    (finding,) = used(json.dumps(told))

    assert finding.seen == "5 of 5 that were sent: 2 by 10.0.0.1:10501, 3 by 10.0.0.2:10501"
