"""Many looks at once: what hangs costs its own answer and nobody else's."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from torchbuild.edges.host_glances import Glances, its_word
from torchbuild.edges.process import capture
from torchbuild.errors import HostError


def test_looks_run_at_once() -> None:
    """Two that wait for each other both answer."""
    both = threading.Barrier(2)
    with Glances(10) as glances:
        begun = [glances.begin(name, both.wait, -1) for name in ("a", "b")]

        assert sorted(glance.result() for glance in begun) == [0, 1]


def test_what_hangs_is_left_and_told() -> None:
    """The others are there, and what is missing says why."""
    never = threading.Event()
    with Glances(0.2) as glances:
        hung = glances.begin("a dead mount", never.wait, False)
        fine = glances.begin("memory", lambda: 7, 0)

        assert (fine.result(), hung.result(), hung.result()) == (7, False, False)
        assert [(item.what, item.why[:12]) for item in glances.noted()] == [("a dead mount", "no answer in")]
        never.set()


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (PermissionError(13, "Permission denied", "/proc/x"), "/proc/x: Permission denied"),
        (ValueError("no number"), "no number"),
        (HostError("query-failed", "docker: failed", why=("seen: exit code 1",), fix="Do."), "exit code 1"),
        (
            HostError(
                "query-failed", "docker: failed", why=(), fix="Do.", evidence=("a", "Cannot connect", "")
            ),
            "Cannot connect",
        ),
        (HostError("query-failed", "docker: failed", why=(), fix="Do."), "docker: failed"),
    ],
    ids=["os", "value", "seen", "evidence", "what"],
)
def test_what_fails_is_told_in_its_own_words(error: Exception, word: str) -> None:
    """One line, the one that says most."""

    def look() -> int:
        raise error

    with Glances(10) as glances:
        assert glances.begin("it", look, 3).result() == 3
        assert [item.why for item in glances.noted()] == [word]
    assert its_word(error) == word


def test_a_mistake_of_ours_is_not_hidden() -> None:
    """A bug in a look is a bug, not a machine that could not be seen."""
    with Glances(10) as glances:
        nothing: dict[str, int] = {}
        glance = glances.begin("it", lambda: nothing["none"], 0)
        with pytest.raises(KeyError):
            glance.result()


def test_programs_that_nobody_waits_for_any_more_are_ended() -> None:
    """Whatever ends the look, Ctrl-C included, nothing of it stays behind."""
    began = time.monotonic()
    with Glances(60) as glances:
        glance = glances.begin(
            "sleeper", lambda: capture(["/bin/sleep", "50"], grace_s=0.1, until=glances.until), ""
        )

    assert glance.ends_by(time.monotonic() + 5)
    assert time.monotonic() - began < 20


def test_nothing_is_left_open() -> None:
    """Looking a thousand times costs no descriptors."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with Glances(10) as glances:
            glances.begin("it", lambda: 1, 0).result()

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_each_item_is_named() -> None:
    """Of many, the one that could not be seen is told by its name."""

    def look(item: str) -> str:
        if item == "b":
            raise OSError(5, "Input/output error")
        return item.upper()

    with Glances(10) as glances:
        seen = [glance.result() for glance in glances.each("folder", "abc", look, lambda _: "")]

        assert seen == ["A", "", "C"]
        assert [item.what for item in glances.noted()] == ["folder b"]
