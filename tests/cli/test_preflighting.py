"""Gathering what preflights are given."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

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
        ("tiny-a", "tiny", "2026-01-01"),
        ("tiny-b", "tiny", "2026-02-01"),
        ("tiny-more-c", "tiny-more", ""),
    ):
        folder = desk.places.builds / name
        folder.mkdir(parents=True)
        stages = [{"stage": "compile", "outcome": "done", "seconds": 5}]
        report = {"recipe": recipe, "run": name, "started": started, "stages": stages}
        (folder / "report.json").write_text(json.dumps(report))
    (desk.places.builds / "tiny-d").mkdir()
    (desk.places.builds / "tiny-d" / "report.json").write_text("no report")

    found = gathered(desk).earlier

    assert [run.run for run in found] == ["tiny-b", "tiny-a"]
    assert found[0].seconds == {"compile": 5.0}


def test_many_runs_of_others_hide_none_of_ours(desk: Desk) -> None:
    """Only so many reports are read: those of this recipe."""
    for name in ("tiny-a", *(f"zoo-{number}" for number in range(30))):
        folder = desk.places.builds / name
        folder.mkdir(parents=True)
        report = {"recipe": name.rpartition("-")[0], "run": name, "started": "2026-01-01", "stages": []}
        (folder / "report.json").write_text(json.dumps(report))

    assert [run.run for run in gathered(desk).earlier] == ["tiny-a"]


def test_a_default_interpreter_is_the_one_that_a_lock_takes(desk: Desk) -> None:
    """The one behind ours, whatever PATH begins with."""
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))

    first = gathered(desk).host.interpreters[0]

    assert (first.path, first.found_by) == (own, "recipe")


def test_folders_that_cannot_be_looked_at_are_no_crash(desk: Desk) -> None:
    """Another user's, or with a name that no file system takes: nothing is found there."""
    places = dataclasses.replace(desk.places, builds=desk.folder / ("x" * 300) / "builds")

    found = case_of(read_recipe(desk.recipe), places, recipe_dir=desk.folder, out=Path("dist"))

    assert found.earlier == ()


def test_a_library_of_this_machine_is_asked_where_nothing_can_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question needs no temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    text = desk.recipe.read_text() + (
        '[cuda]\nversion = "12.4.1"\narchs = ["9.0"]\n[nccl]\nfrom = "system"\nversion = "2.21.5"\n'
    )
    desk.recipe.write_text(text)

    assert gathered(desk).libraries["nccl"]["library"]["kind"] == "missing"
