"""Lines that launchers send, and lines that no launcher does."""

from __future__ import annotations

import contextlib
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.shim.clients import Asked, Client, number, read_question


def test_lines_come_in_pieces() -> None:
    """A line is a line when its end has come."""
    with socket.socket() as link:
        client = Client(link)

        assert list(client.lines(b"ask\t1")) == []
        assert list(client.lines(b"2\nkilled\t3\nen")) == [["ask", "12"], ["killed", "3"]]
        assert list(client.lines(b"d\n")) == [["end"]]


def test_a_line_without_an_end_is_no_launchers() -> None:
    """What is kept of a sender is bounded."""
    with socket.socket() as link, pytest.raises(ValueError, match="without an end"):
        list(Client(link).lines(b"x" * 100_000))


def test_an_output_is_named_relative_to_the_tree() -> None:
    """The same in every workspace; what lies elsewhere keeps its whole path."""
    words = [str(os.getpid()), "/usr/bin/g++", "/b/sub", "a.o"]

    assert read_question(words, "/b", os.getppid()) == Asked(os.getpid(), "g++", "sub/a.o", 1)
    assert read_question(words, "/c", os.getppid()).name == "/b/sub/a.o"


@pytest.mark.parametrize("pid", ["1", "0", "-1", "999999999"])
def test_a_process_that_is_not_below_ninja_is_nobody(pid: str) -> None:
    """It is let in like others, and is neither measured nor ended."""
    assert read_question([pid, "g++", "/", "a.o"], "/b", os.getpid()).pid == 0


def test_behind_a_server_both_are_known() -> None:
    """Its compilers are measured where the server has them, and stopped by way of who waits for it."""
    me, above = str(os.getpid()), os.getppid()

    behind = read_question([me, "g++", "/b", "a.o", me], "/b", above, above)
    assert (behind.pid, behind.client, behind.is_blind) == (os.getpid(), os.getpid(), False)
    assert read_question([me, "g++", "/b", "a.o", "1"], "/b", above).client == 0
    assert read_question([me, "g++", "/b", "a.o", ""], "/b", above).client == 0
    assert read_question([me, "nvcc", "/b", "a.o", "blind"], "/b", above).is_blind


@pytest.mark.parametrize("words", [["1", "g++", "/", "a", "²"], ["1", "g++", "/", "a", "9" * 500]])
def test_who_waits_is_a_number_or_nobody(words: list[str]) -> None:
    """Whatever is sent there."""
    with contextlib.suppress(ValueError):
        assert read_question(words, "/b", 1).client == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["1"],
        ["1", "g++", "/", "a", "", "", "", ""],
        ["x", "g++", "/", "a"],
        ["9" * 5000, "g++", "/", "a"],
    ],
)
def test_other_words_are_refused(words: list[str]) -> None:
    """Whoever sends them is no launcher."""
    with pytest.raises(ValueError, match=r"."):
        read_question(words, "/b", 1)


@given(st.text(max_size=40))
def test_a_number_is_small_or_none(text: str) -> None:
    """Whatever is sent."""
    with contextlib.suppress(ValueError):
        assert 0 <= number(text) < 10**13
