"""`torchbuild plan`."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.main import run_main


def test_a_plan_is_made_from_a_lock(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a lock nobody knows what would run; none is made in passing."""
    assert run_main(["plan", str(recipe)]) == 5

    assert "error[lock-missing]" in capsys.readouterr().err
    assert list(recipe.parent.iterdir()) == [recipe]
