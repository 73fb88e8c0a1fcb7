"""Judging what was seen of a library."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolchains.library_samples import ours
from torchbuild.model.finding import Finding
from torchbuild.model.part import PartName
from torchbuild.toolchains.library_proof import CHECKS
from torchbuild.toolchains.proof import Wanted, judge

WANTED = Wanted(archs=("9.0",), torch="2.6.0", cuda="12.4.1")
SEEN: dict[str, Any] = {
    "header": {
        "path": "/p/include/nccl.h",
        "kind": "file",
        "versions": "/p/include/nccl.h",
        "version": "2.21.5",
    },
    "library": {
        "path": "/p/lib/libnccl.so",
        "real": "/p/lib/libnccl.so.2",
        "kind": "file",
        "called": "2.21.5",
        "said": "2.21.5",
        "cuda": "12.4",
        "why_not_called": "",
    },
    "program": {"built": True, "exit": 0, "said": "", "header": "2.21.5", "library": "2.21.5"},
    "others": [],
    "distributions": [],
}


def judged(
    seen: dict[str, Any], version: str = "2.21.5", name: PartName = "nccl", wanted: Wanted = WANTED
) -> dict[str, Finding]:
    """Findings by reference."""
    found = judge(CHECKS, ours(name, version), wanted, seen)
    return {item.reference: item for item in found}


def changed(**tables: dict[str, Any]) -> dict[str, Any]:
    """What is seen of a good one, with something else in its tables."""
    return SEEN | {key: SEEN[key] | table for key, table in tables.items()}


def test_a_good_library_passes_every_check() -> None:
    """Each check has something to say, and says it is well."""
    found = judged(SEEN)

    assert {item.outcome for item in found.values()} == {"passed"}
    assert len(found) == len(CHECKS)


@pytest.mark.parametrize(
    ("seen", "reference", "shown"),
    [
        (changed(header={"version": ""}), "library-header", "no version in /p/include/nccl.h"),
        (changed(header={"kind": "missing"}), "library-header", "nothing"),
        (changed(header={"kind": "unreadable"}), "library-header", "a file that cannot be read"),
        (changed(library={"kind": "directory"}), "library-file", "a directory"),
        (changed(library={"kind": "dangling"}), "library-file", "a link that leads nowhere"),
        (changed(library={"called": "2.18.3"}), "library-header-agrees", "2.18.3"),
        (changed(library={"called": "", "said": "2.18.3"}), "library-header-agrees", "2.18.3"),
        (changed(library={"called": "2.22.3"}), "library-version", "2.22.3"),
        (changed(library={"cuda": "13.0"}), "library-cuda", "13.0"),
        (changed(header={"version": "2.6.4"}), "library-minimum", "2.6.4"),
        (changed(program={"library": "2.18.3"}), "library-program", "library 2.18.3"),
        (changed(program={"built": False, "said": "ld: no"}), "library-program", "ld: no"),
        (changed(program={"exit": 127, "header": ""}), "library-program", "exit code 127"),
        (SEEN | {"distributions": ["a", "b"]}, "library-one-distribution", "a, b"),
    ],
)
def test_what_is_not_as_locked_fails_by_name(seen: dict[str, Any], reference: str, shown: str) -> None:
    """What was seen is told, beside what was wanted."""
    finding = judged(seen)[reference]

    assert finding.outcome == "failed"
    assert shown in finding.seen
    assert finding.wanted


@pytest.mark.parametrize(
    ("seen", "reference"),
    [
        (changed(library={"called": "", "said": ""}), "library-header-agrees"),
        (changed(library={"cuda": ""}), "library-cuda"),
        (SEEN | {"program": {"why": "nobody wrote one"}}, "library-program"),
        ({key: value for key, value in SEEN.items() if key != "others"}, "library-others"),
        ({key: value for key, value in SEEN.items() if key != "distributions"}, "library-one-distribution"),
    ],
)
def test_what_nobody_could_look_at_is_not_passed(seen: dict[str, Any], reference: str) -> None:
    """It is not run, with the reason."""
    finding = judged(seen)[reference]

    assert finding.outcome == "not run"
    assert ": " in finding.what


def test_other_copies_are_named_each() -> None:
    """They are a warning that says what decides: the gate."""
    other = {"where": "the toolkit", "path": "/usr/local/cuda/include/nccl.h", "version": "2.18.3"}

    finding = judged(SEEN | {"others": [other]})["library-others"]

    assert finding.outcome == "warned"
    assert "/usr/local/cuda/include/nccl.h (2.18.3) in the toolkit" in finding.seen
    assert "gate" in finding.what


def test_a_release_that_dropped_a_chip_is_suspected() -> None:
    """By the publisher's own files; what this file holds is read from it elsewhere."""
    wanted = WANTED.model_copy(update={"archs": ("6.1", "9.0")})

    finding = judged(SEEN, "9.11.0.98", "cudnn", wanted)["library-chips"]

    assert (finding.outcome, finding.seen, finding.wanted) == ("warned", "sm_75 to sm_121", "6.1")
    assert judged(SEEN, "9.10.2.21", "cudnn", wanted)["library-chips"].outcome == "passed"


def test_a_release_that_is_older_than_a_chip_is_suspected_too() -> None:
    """CuDNN 9.5 has no code for Blackwell, as the solver and doctor say; all three ask the same row."""
    wanted = WANTED.model_copy(update={"archs": ("9.0", "12.0")})

    finding = judged(SEEN, "9.5.1.17", "cudnn", wanted)["library-chips"]

    assert (finding.outcome, finding.wanted) == ("warned", "12.0")


@pytest.mark.parametrize(
    "seen", [{}, {"error": "x"}, {"header": 3, "library": [], "program": None, "others": "x"}]
)
def test_a_report_that_is_none_fails(seen: dict[str, Any]) -> None:
    """What nobody saw is no proof: the parts that must be there fail, the others are not run."""
    found = judged(seen)

    assert found["library-header"].outcome == "failed"
    assert found["library-file"].outcome == "failed"
    assert found["library-version"].outcome == "failed"
    assert "passed" not in {found[name].outcome for name in ("library-program", "library-one-distribution")}


def test_a_minimum_that_nobody_read_is_a_suspicion() -> None:
    """It warns; one that was read in the tree refuses."""
    wanted = WANTED.model_copy(update={"torch": "2.9.1"})
    seen = changed(header={"version": "8.2.0"}, library={"called": "8.2.0"})
    minimums = [
        item
        for item in judge(CHECKS, ours("cudnn", "8.2.0.51"), wanted, seen)
        if item.reference == "library-minimum"
    ]

    assert [(item.wanted, item.outcome) for item in minimums] == [(">=8.1", "passed"), (">=8.5", "warned")]
