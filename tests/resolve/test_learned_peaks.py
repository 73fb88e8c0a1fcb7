"""Peaks of memory, from build to build."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from torchbuild.model.lock import Lock
from torchbuild.resolve.learned_peaks import compilers_of, expected, merged


def lines(**peaks: int) -> str:
    """What a supervisor writes."""
    return "".join(json.dumps({"edge": edge, "bytes": peak}) + "\n" for edge, peak in peaks.items())


def test_what_was_seen_is_told_to_the_next_build() -> None:
    """By the same compilers, and to no others; what is newer counts."""
    kept = merged("gcc 14", merged("gcc 14", None, lines(a=1, b=2)), lines(b=3))

    assert json.loads(expected("gcc 14", kept))["learned"] == {"a": 1, "b": 3}
    assert json.loads(expected("gcc 13", kept))["learned"] == {}


def test_facts_are_told_too() -> None:
    """In their order, and what holds for all others."""
    told = json.loads(expected("gcc 14", None))

    assert told["priors"][0]["program"] == "nvcc"
    assert all(row["pattern"] or row["program"] for row in told["priors"])
    assert 500_000_000 < told["other"] < 2_000_000_000


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"gcc 14": 3}', '{"gcc 14": {"a": "much"}}', "[" * 9999])
def test_a_damaged_file_is_learned_anew(kept: str) -> None:
    """Nothing that lies in the store can fail a build."""
    text = merged("gcc 14", kept, lines(a=1) + "{half of a li")

    assert text is not None
    assert json.loads(text)["gcc 14"] == {"a": 1}
    assert json.loads(expected("gcc 14", kept))["learned"] == {}


@pytest.mark.parametrize("seen", [None, "", "[]\n3\n{}\nnonsense\n"])
def test_without_news_nothing_is_written(seen: str | None) -> None:
    """A build from a warm cache compiles nothing and leaves the file alone."""
    assert merged("gcc 14", '{"gcc 14": {"a": 1}}', seen) is None


def test_the_compilers_used_last_are_kept() -> None:
    """The file does not grow with every compiler that ever was."""
    kept: str | None = None
    for number in range(20):
        kept = merged(f"gcc {number}", kept, lines(a=number))
        kept = merged("mine", kept, lines(a=number))

    names = list(json.loads(kept or ""))
    assert len(names) == 12
    assert names[-2:] == ["gcc 19", "mine"]


def test_compilers_are_known_by_what_they_are(make_lock: Callable[..., Lock]) -> None:
    """Package, compiler and build type: what these change, memory does too."""
    lock = make_lock()

    assert compilers_of(lock).startswith(f"torchlet; {lock.compiler}")
    assert compilers_of(lock) != compilers_of(make_lock(compiler="clang 19"))
