"""The pipe that tokens lie in, and the options that would lead around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.shim.jobserver import MAKE, NINJA, Jobserver, allowed_jobs, without_jobs


def test_one_job_needs_no_token(tmp_path: Path) -> None:
    """A client may run one job by itself: the pipe holds one less than jobs may run."""
    served = Jobserver(str(tmp_path), 4)

    assert served.free() == 3
    files = f"{served.inherited},{served.inherited}"
    assert served.makeflags() == f" -j --jobserver-auth=fifo:{tmp_path}/jobs --jobserver-f={files}"
    served.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_lent_is_taken_back(tmp_path: Path) -> None:
    """More tokens than jobs are there only while some jobs wait."""
    served = Jobserver(str(tmp_path), 1)
    assert not served.take_back()

    served.lend()

    assert (served.free(), served.lent) == (1, 1)
    assert served.take_back()
    assert (served.free(), served.lent) == (0, 0)
    served.lend()
    os.read(served._file, 1)
    assert not served.take_back()
    assert served.lent == 1
    served.close()


def test_lost_tokens_are_put_back_and_spare_ones_taken(tmp_path: Path) -> None:
    """In the end there are as many as there should be."""
    served = Jobserver(str(tmp_path), 5)
    os.read(served._file, 3)

    served.settle(3)
    assert (served.free(), served.recovered) == (4, 3)
    served.settle(-2)
    assert (served.free(), served.recovered) == (2, 3)
    served.close()


@pytest.mark.parametrize(
    ("program", "options", "kept", "jobs"),
    [
        (NINJA, ["-j", "4", "-v"], ["-v"], 4),
        (NINJA, ["-j4", "-l2.5", "-k0"], ["-k0"], 4),
        (NINJA, ["-vj8", "-C", "b"], ["-v", "-C", "b"], 8),
        (NINJA, ["-Cj4", "-l", "3"], ["-Cj4"], None),
        (NINJA, ["-j", "0"], [], 0),
        (NINJA, ["-kj"], ["-kj"], None),
        (NINJA, ["--", "-j4"], ["--", "-j4"], None),
        (MAKE, ["-kj8", "all"], ["-k", "all"], 8),
        (MAKE, ["-j", "-l", "all"], ["all"], None),
        (MAKE, ["--jobs=3", "--load-average", "2", "--max-load=1", "V=1"], ["V=1"], 3),
        (MAKE, ["--jobs", "3", "-C", "j"], ["-C", "j"], 3),
        (MAKE, ["-fj4", "-"], ["-fj4", "-"], None),
    ],
)
def test_job_counts_are_taken_out(
    program: str, options: list[str], kept: list[str], jobs: int | None
) -> None:
    """As each of the two programs reads its options; all others stay as they are."""
    assert without_jobs(options, program) == (kept, jobs)


@given(st.lists(st.text(alphabet="-abCk x=", max_size=5), max_size=6))
def test_other_options_stay(options: list[str]) -> None:
    """Where there is no j and no l nothing is changed."""
    assert without_jobs(options, NINJA) == (options, None)


@pytest.mark.parametrize(
    ("asked", "environ", "jobs"),
    [(None, {"MAX_JOBS": "3"}, 3), (8, {"MAX_JOBS": "3"}, 3), (1, {"MAX_JOBS": "3"}, 1), (5, {}, 5)],
)
def test_the_least_of_what_is_asked_and_allowed(
    asked: int | None, environ: dict[str, str], jobs: int
) -> None:
    """The user's number is a ceiling; a tree may ask for less."""
    assert allowed_jobs(asked, environ) == jobs


@pytest.mark.parametrize("said", ["", "0", "many", "-1"])
def test_without_a_number_it_is_the_processors(said: str) -> None:
    """Those that this process may run on; ninja's 0, for any number, is no number."""
    assert allowed_jobs(0, {"MAX_JOBS": said}) == len(os.sched_getaffinity(0))
