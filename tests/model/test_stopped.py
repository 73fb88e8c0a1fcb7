"""What a build says that ended because somebody asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.errors import Interrupted, OutOfTime
from torchbuild.model.stopped import Reason, Unasked, stopped


@pytest.mark.parametrize(
    ("reason", "family", "code", "what"),
    [
        ("interrupt", Interrupted, 130, "stopped as you asked after 3 of 9 edges of compile"),
        (
            "time",
            OutOfTime,
            75,
            "stopped after 3 of 9 edges of compile: the time that --stop-after gives is over",
        ),
    ],
)
def test_a_program_tells_a_wish_from_a_clock(
    reason: Reason, family: type[Interrupted], code: int, what: str
) -> None:
    """By exit code and by reference; a person reads how far it came, and that the same command goes on."""
    error = stopped(reason, "after 3 of 9 edges of compile")

    assert (type(error), error.exit_code, error.what) == (family, code, what)
    assert error.fix.startswith("Run the same command again")


def test_nobody_asks(tmp_path: Path) -> None:
    """Where nobody listens nothing is made."""
    with Unasked().gently(tmp_path / "mark"):
        pass

    assert (Unasked().reason, list(tmp_path.iterdir())) == ("", [])
