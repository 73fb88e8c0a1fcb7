"""What the supervisor says of a compiler that it gives up, as an error."""

from __future__ import annotations

from pathlib import Path

from torchbuild.resolve.killed_compiler import is_lost, killed_compiler

LINE = "torchbuild: a/b c.o was killed twice, the second time alone, with 1234 MiB"


def test_the_line_is_known() -> None:
    """A compiler that is run again is no failure, and neither is what a compiler prints."""
    assert is_lost(LINE + "\n")
    assert not is_lost("torchbuild: a.o was killed; it is run again alone")
    assert not is_lost("note: " + LINE)


def test_the_error_tells_how_much_it_held() -> None:
    """With the memory that it had, so that people know how much more is needed."""
    error = killed_compiler([LINE, LINE], ["FAILED: a/b c.o"], Path("/log"))

    assert error is not None
    assert (error.reference, error.what) == ("compiler-killed", "the compiler of a/b c.o was killed twice")
    assert "it held 1,234 MiB" in error.why[0]
    assert error.why[-1] == "further compilers that were killed so: 1"
    assert error.evidence == ("FAILED: a/b c.o",)


def test_without_such_a_line_there_is_none() -> None:
    """Other failures have other causes."""
    assert killed_compiler([], [], Path("/log")) is None
