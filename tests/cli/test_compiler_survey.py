"""Looking at the builder of a CUDA build, with this machine's own compilers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.compiler_survey import CompilerSurvey
from torchbuild.context import Completed
from torchbuild.errors import ConflictError, HostError
from torchbuild.model.command import Command
from torchbuild.model.recipe import Recipe

LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4.1", "from": "redist", "archs": ("9.0",)},
}


@dataclass
class Here:
    """Runs the scripts on this machine, with the build's root in a folder; or prints what a test says."""

    root: Path
    says: list[str] | None = None
    scripts: list[str] = field(default_factory=list)
    name: str = "here"

    def run(self, command: Command, *, log: Path, **_options: Any) -> Completed:
        """One script."""
        self.scripts.append(command.argv[2])
        lines = self.says
        if lines is None:
            request = self.root / "shim" / f"{Path(command.argv[3]).name}"
            request.write_text(request.read_text().replace("/torchbuild/scratch", str(self.root / "scratch")))
            script = self.root / "shim" / Path(command.argv[2]).name
            argv = [sys.executable, "-I", str(script), str(request)]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            lines = ["words of an engine", *done.stdout.splitlines()]
        log.write_text("".join(f"{line}\n" for line in lines))
        return Completed(exit_code=0, seconds=0.1, tail=tuple(lines), log=log)

    def put(self, source: Path, destination: str) -> None:
        """Not used."""
        raise AssertionError

    def get(self, source: str, destination: Path) -> None:
        """Not used."""
        raise AssertionError

    def environment(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def shell(self, command: Command) -> int:
        """Not used."""
        raise AssertionError


def look(tmp_path: Path, says: list[str] | None = None, **tables: Any) -> Any:
    """What is found for a recipe with these tables."""
    recipe = Recipe.model_validate(LEAST | tables)
    survey = CompilerSurvey(
        executor=Here(tmp_path, says), root=tmp_path, python="/usr/bin/python3", logs=tmp_path
    )
    assert recipe.cuda is not None
    return survey.look(recipe, recipe.cuda)


def ended(tmp_path: Path, **tables: Any) -> tuple[str, Any]:
    """How it ended: another machine may have no compiler that the toolkit takes."""
    try:
        return "chosen", look(tmp_path, **tables)
    except ConflictError as error:
        return error.reference, error


def test_a_compiler_of_this_machine_is_chosen_or_each_is_refused_with_its_reason(tmp_path: Path) -> None:
    """Whatever a machine has, the answer names compilers and reasons, and the scripts were really run."""
    how, found = ended(tmp_path)

    assert how in ("chosen", "host-compiler-none")
    if how == "chosen":
        assert found.chosen.cxx.startswith("/")
        assert found.chosen.compiler
        assert found.toolkit == {}
    else:
        assert all("wanted" in line or "would do" in line for line in found.why)


def test_a_toolkit_of_the_builder_is_looked_at_before_the_compilers(tmp_path: Path) -> None:
    """Where there is none, its provider will say so; the survey does not guess."""
    how, found = ended(tmp_path, cuda=LEAST["cuda"] | {"from": "system", "path": str(tmp_path / "cuda")})

    assert how in ("chosen", "host-compiler-none")
    assert how != "chosen" or found.toolkit["cuda-prefix"] == ""


@pytest.mark.parametrize("said", [[], ["no JSON"], [json.dumps([1])]])
def test_a_builder_that_prints_nothing_useful_is_an_error_of_ours(tmp_path: Path, said: list[str]) -> None:
    """A broken interpreter of the builder ends in words, not in a traceback."""
    with pytest.raises(HostError) as caught:
        look(tmp_path, said)

    assert caught.value.reference == "survey-unreadable"


def test_an_answer_of_another_shape_is_refused(tmp_path: Path) -> None:
    """A script of another version may print other keys."""
    with pytest.raises(HostError) as caught:
        look(tmp_path, ['{"compilers": 1}'])

    assert caught.value.reference == "compilers-unreadable"
