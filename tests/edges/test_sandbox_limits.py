"""The limits by themselves; that every executor gives them is in tests/contract."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pytest

from torchbuild.edges.sandbox_limits import LIMITS, limited, limits_to_ask_for

PAIRS = [(name, number) for name, (number, _, _) in LIMITS.items()]
TELL = f"""
import json, os, resource
limits = {{name: resource.getrlimit(number) for name, number in {PAIRS}}}
print(json.dumps([limits, len(os.sched_getaffinity(0)), os.environ.get("KEPT")]))
"""


def told(before: str = "", processors: int | None = None) -> tuple[dict[str, list[int]], int, str]:
    """What a program sees that was started with the limits by a caller who did something before."""
    start = (
        f"import os, resource, sys; {before}\n"
        "from torchbuild.edges.sandbox_limits import limited\n"
        f"words = limited([sys.executable, '-c', sys.argv[1]], {processors}); os.execv(words[0], words)"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, TELL],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"KEPT": "as it was"},
    )
    limits, count, kept = json.loads(done.stdout)
    return limits, count, kept


def test_limits_are_what_they_are_called() -> None:
    """A program has exactly these numbers, and its variables as they were."""
    limits, _, kept = told()
    assert limits == {name: [soft, hard] for name, (_, soft, hard) in LIMITS.items()}
    assert kept == "as it was"


def test_what_the_caller_raised_does_not_count() -> None:
    """A caller's unlimited core files do not lie beside a build's results."""
    limits, _, _ = told("c = resource.RLIMIT_CORE; resource.setrlimit(c, (resource.getrlimit(c)[1],) * 2)")
    assert limits["core"] == [0, 0]


def test_a_caller_who_has_less_gives_what_there_is() -> None:
    """A machine that gives a user fewer open files than we would builds all the same."""
    limits, _, _ = told("resource.setrlimit(resource.RLIMIT_NOFILE, (300, 600))")
    own_right = limits["nofile"] == [1024, 4096]  # of a root who may raise what was lowered
    assert own_right or limits["nofile"] == [600, 600]


def test_an_engine_is_asked_for_no_more_than_there_is() -> None:
    """An engine of an ordinary user refuses what its user may not have: it is never asked."""
    for name, (number, soft, hard) in LIMITS.items():
        most = resource.getrlimit(number)[1]
        unlimited = most == resource.RLIM_INFINITY
        expected = (soft if unlimited else min(soft, most), hard if unlimited else min(hard, most))
        assert limits_to_ask_for()[name] == expected


@pytest.mark.parametrize("asked", [1, None, 10_000])
def test_processors_are_as_many_as_asked_for(asked: int | None) -> None:
    """A program runs on so many processors, or on all that the caller may use."""
    there = len(os.sched_getaffinity(0))
    assert told(processors=asked)[1] == min(asked or there, there)


def test_callers_packages_do_not_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start depends on nothing of the caller's interpreter."""
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    words = limited(["/bin/echo", "a b", "--", "$HOME"], 1)
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "a b -- $HOME\n"
