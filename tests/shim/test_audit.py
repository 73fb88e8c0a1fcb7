"""What the supervisor looks after, on paper: processes are given, and no machine is looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.shim.audit import Audit
from torchbuild.shim.jobserver import Jobserver
from torchbuild.shim.processes import Process, Processes

NINJA = 10


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Jobserver]:
    """Three tokens."""
    made = Jobserver(str(tmp_path), 3)
    yield made
    made.close()


def ninja_with(*edges: int, make: int = 0) -> Processes:
    """Ninja, edges of these numbers, and so many jobs of a make that is the last edge."""
    found = [Process(NINJA, 9, "ninja-real", 0, is_over=False)]
    found += [Process(number, NINJA, "make" if make else "sh", 0, is_over=False) for number in edges]
    found += [Process(900 + number, edges[-1], "sh", 0, is_over=False) for number in range(make)]
    return Processes(found)


def looks(audit: Audit, seen: Processes, count: int = 12) -> None:
    """Look so often, a second each."""
    for second in range(count):
        audit.look(seen, NINJA, float(second), audit._jobserver.free())


def test_a_ninja_that_only_reads_its_files_has_lost_no_token(served: Jobserver) -> None:
    """The job that a client has without a token is never put into the pipe: it would be one too many for ever."""
    looks(Audit(served, print), ninja_with())

    assert (served.free(), served.recovered) == (2, 0)


def test_what_is_missing_for_a_while_is_put_back(served: Jobserver) -> None:
    """A token that nobody has and nobody uses."""
    os.read(served.inherited, 2)

    looks(Audit(served, print), ninja_with(1 << 30))

    assert (served.free(), served.recovered) == (2, 2)


def test_who_has_ended_keeps_its_token_until_it_was_looked_at(served: Jobserver) -> None:
    """On a busy machine ninja looks late: nothing is missing, and a token more would be one too many."""
    os.read(served.inherited, 2)
    ended = [Process(number, NINJA, "sh", 0, is_over=True) for number in (1 << 30, (1 << 30) + 1)]
    running = Process((1 << 30) + 2, NINJA, "sh", 0, is_over=False)

    looks(Audit(served, print), Processes([*ended, running]))

    assert (served.free(), served.recovered) == (0, 0)


def test_jobs_beside_the_tokens_are_told_once(served: Jobserver) -> None:
    """And the others have so many fewer meanwhile."""
    said: list[str] = []
    audit = Audit(served, said.append)

    looks(audit, ninja_with(1 << 30, make=5))

    assert served.free() == 0
    assert len(said) == 1
    assert "`make` starts jobs of its own beside the 3 tokens" in said[0]
    assert audit.exceeded == 2


def test_what_stands_still_is_told_once(served: Jobserver) -> None:
    """Ten seconds are no accident."""
    said: list[str] = []
    audit = Audit(served, said.append)
    still = Process(5, NINJA, "cc1plus", 0, is_over=False, is_stopped=True)

    for second in (0.0, 9.0):
        audit.look(Processes([still]), NINJA, second, 2)
    assert said == []
    for second in (11.0, 12.0):
        audit.look(Processes([still]), NINJA, second, 2)
    assert len(said) == 1
    assert "kill -CONT 5" in said[0]
    audit.look(Processes([]), NINJA, 13.0, 2)
    audit.look(Processes([still]), NINJA, 14.0, 2)
    assert len(said) == 1
