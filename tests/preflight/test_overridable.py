"""What a build may go on in spite of."""

from __future__ import annotations

import ast
from pathlib import Path

from torchbuild.knowledge.references import references
from torchbuild.preflight.overridable import overridable

ROOM = Path(__file__).parents[2] / "torchbuild" / "preflight"


def test_every_failure_of_ours_can_be_overridden_by_name() -> None:
    """And nothing that cannot fail is offered."""
    literal = {
        call.args[0].value
        for path in ROOM.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") in ("failed", "forbidden", "say")
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }

    conflicts = {name for name, row in references().items() if row.family == "conflict"}
    assert set(overridable()) == literal | conflicts


def test_every_one_is_explained() -> None:
    """Who overrides it can read what it is, first."""
    assert set(overridable()) <= set(references())
