"""The preflights of a build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Desk
from torchbuild.cli.preflight_gate import Gate
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.errors import ConflictError
from torchbuild.model.lock import Lock


def gate(desk: Desk, *despite: str) -> Gate:
    """Of the desk's recipe, whose tree holds an earlier build."""
    (desk.folder / "tree" / "build").mkdir(exist_ok=True)
    (desk.folder / "tree" / "build" / "CMakeCache.txt").write_text("")
    recipe = read_recipe(desk.recipe)
    return Gate(recipe=recipe, here=desk.places, recipe_dir=desk.folder, out=Path("dist"), despite=despite)


def test_what_would_fail_is_refused(desk: Desk) -> None:
    """Before anything is begun, and kept for the report."""
    asked = gate(desk)

    with pytest.raises(ConflictError) as caught:
        asked.check()

    assert caught.value.reference == "preflight-refused-recipe"
    assert "failed" in {item.outcome for item in asked.findings()}


def test_what_is_overridden_is_told(desk: Desk) -> None:
    """By name, with what is seen."""
    asked = gate(desk, "source-stale-cache")

    asked.check()

    (line,) = asked.overridden()
    assert line.startswith("source-stale-cache: ")


def test_it_looks_once(desk: Desk) -> None:
    """A second stage that runs asks nobody again."""
    asked = gate(desk, "source-stale-cache")
    asked.check()
    seen = asked.found

    asked.check()

    assert asked.found is seen


def test_late_stages_need_no_look(desk: Desk, make_lock: Callable[..., Lock]) -> None:
    """They fetch nothing and compile nothing."""
    asked: Any = gate(desk)

    for stage in ("package", "verify", "publish"):
        asked.before_stage(stage, make_lock())

    assert asked.found is None
    assert asked.findings() == ()
