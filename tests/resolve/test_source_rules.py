"""A key of a source is acted on or refused; an address holds no secret."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.recipe import Source
from torchbuild.resolve.source_rules import source_problems

GIT = {"git": "https://git.example/x.git", "ref": "v1"}
ARCHIVE = {"archive": "x.tar.gz", "sha256": "0" * 64, "epoch": 1700000000}
PATH = {"path": "tree", "epoch": 1700000000}


def problems(**keys: Any) -> list[str]:
    """The keys that are refused."""
    return [problem.path for problem in source_problems("source", Source(**keys))]


@pytest.mark.parametrize(
    "keys",
    [
        GIT,
        ARCHIVE,
        PATH,
        GIT | {"submodules": "recursive"},
        GIT | {"submodules": "system"},
        ARCHIVE | {"strip": 0},
        ARCHIVE | {"submodules": "system"},
        PATH | {"submodules": "system"},
    ],
)
def test_keys_that_are_acted_on_are_accepted(keys: dict[str, Any]) -> None:
    """Each kind with its own."""
    assert problems(**keys) == []


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        (GIT | {"strip": 1}, "source.strip"),
        (PATH | {"strip": 0}, "source.strip"),
        (ARCHIVE | {"submodules": "recursive"}, "source.submodules"),
        (PATH | {"submodules": "recursive"}, "source.submodules"),
    ],
)
def test_keys_that_would_be_ignored_are_refused(keys: dict[str, Any], refused: str) -> None:
    """Also where the value is the default: who writes it expects something of it."""
    assert problems(**keys) == [refused]


@pytest.mark.parametrize(
    "tail", ["?private_token=s3cret", "?access_token=s3cret", "#s3cret", "?x", "/?job_token=s3cret"]
)
def test_an_address_with_a_query_is_refused_and_not_repeated(tail: str) -> None:
    """Tokens stand there; the message does not spread them."""
    (problem,) = source_problems("source", Source(git="https://git.example/x.git" + tail, ref="v1"))

    assert problem.path == "source.git"
    assert "s3cret" not in f"{problem.seen} {problem.wanted}"


def test_other_addresses_are_left_to_those_who_fetch() -> None:
    """A local path may hold any letter."""
    for git in (
        "/srv/what?.git",
        "git@git.example:x/y.git",
        "https://[broken",
        "https://me:s3cret@git.example/x.git",
    ):
        assert problems(git=git, ref="v1") == []
