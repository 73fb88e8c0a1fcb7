"""The option that gives a build a time."""

from __future__ import annotations

import pytest

from torchbuild.cli.main import run_main
from torchbuild.cli.stop_after import Duration
from torchbuild.errors import UsageError


def test_a_time_is_read() -> None:
    """As the caller's own clock would tell it; what is read already stays."""
    assert Duration().convert("1h30m", None, None) == 5400
    assert Duration().convert(60, None, None) == 60


def test_a_number_alone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Three of what? Nothing is begun."""
    with pytest.raises(UsageError, match="'3' is no time"):
        Duration().convert("3", None, None)

    assert run_main(["build", "nothing.toml", "--stop-after", "3"]) == 2
    assert "wanted a time such as 3h, 90m, 1h30m or 45s" in capsys.readouterr().err
