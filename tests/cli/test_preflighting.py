"""Gathering what preflights are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Desk
from torchbuild.cli.preflighting import case_of
from torchbuild.cli.recipe_files import read_recipe


def gathered(desk: Desk, **changed: Any) -> Any:
    """Of the desk's recipe."""
    return case_of(read_recipe(desk.recipe), desk.places, recipe_dir=desk.folder, out=Path("dist"), **changed)


def test_the_machine_alone_has_no_recipe(desk: Desk) -> None:
    """Nothing of a recipe is asked."""
    found = case_of(None, desk.places, recipe_dir=desk.folder, out=Path("dist"))

    assert found.recipe is None
    assert {item.role for item in found.host.disks} == {"temp", "store", "builds", "out"}


def test_a_source_directory_is_looked_at(desk: Desk) -> None:
    """The one beside the recipe."""
    tree = gathered(desk).tree

    assert tree is not None
    assert tree.exists


def test_another_package_is_not_weighed_by_the_facts(desk: Desk) -> None:
    """They speak of torch."""
    assert gathered(desk).advice is None


def test_earlier_runs_are_found_by_their_reports(desk: Desk) -> None:
    """Those of the same recipe, newest first; what is no report is none."""
    for name, recipe, started in (
        ("a", "tiny", "2026-01-01"),
        ("b", "tiny", "2026-02-01"),
        ("c", "other", ""),
    ):
        folder = desk.places.builds / name
        folder.mkdir(parents=True)
        stages = [{"stage": "compile", "outcome": "done", "seconds": 5}]
        report = {"recipe": recipe, "run": name, "started": started, "stages": stages}
        (folder / "report.json").write_text(json.dumps(report))
    (desk.places.builds / "d").mkdir()
    (desk.places.builds / "d" / "report.json").write_text("no report")

    found = gathered(desk).earlier

    assert [run.run for run in found] == ["b", "a"]
    assert found[0].seconds == {"compile": 5.0}
