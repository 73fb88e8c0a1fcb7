"""Errors, as people and programs read them."""

from __future__ import annotations

import io
import json
from textwrap import dedent

import pytest
from rich.console import Console

from torchbuild.errors import HostError, Problem, RecipeError, StageError, TorchbuildError
from torchbuild.report.errors_text import error_json, error_rich, error_text, problem_lines

COMPILE = StageError(
    "compile-failed",
    "compile stopped at target torch_cuda after 41 min",
    why=("cc1plus was killed (signal 9) while 32 jobs shared 64 GiB", "a second line\nand a third"),
    fix="Run torchbuild build --jobs 16 recipe.toml.",
    evidence=("c++: fatal error: Killed \x1b[31msignal\x1b[0m", "ninja: build stopped"),
    link=".torchbuild/runs/ab12/logs/compile.log",
)
RECIPE = RecipeError(
    "recipe-invalid",
    "2 problems in recipe.toml",
    fix="Correct the keys named above.",
    problems=(
        Problem(
            path="build.variant",
            seen='"cu310"',
            wanted="one of cpu, cu126, cu128",
            line=7,
            file="recipe.toml",
            suggestion='"cu128"',
        ),
        Problem(path="gpu.archs[2]", seen='"9.0b"', wanted="N.N", line=12, file="base.toml"),
        Problem(path="source.ref", seen="nothing", wanted="a tag, branch or commit", file="recipe.toml"),
    ),
)


def test_an_error_answers_what_why_and_what_to_do() -> None:
    """One block: the name, the reasons, the log's last lines, the fix, where to read on."""
    assert error_text(COMPILE) == dedent(
        """\
        error[compile-failed]: compile stopped at target torch_cuda after 41 min
          why   cc1plus was killed (signal 9) while 32 jobs shared 64 GiB
                a second line
                and a third
          |     c++: fatal error: Killed signal
          |     ninja: build stopped
          fix   Run torchbuild build --jobs 16 recipe.toml.
          log   .torchbuild/runs/ab12/logs/compile.log
          more  torchbuild explain compile-failed"""
    )


def test_problems_stand_in_columns_each_with_its_place() -> None:
    """Every problem of a recipe is a line: where, which key, seen, wanted, and what was probably meant."""
    assert error_text(RECIPE) == dedent(
        """\
        error[recipe-invalid]: 2 problems in recipe.toml
          recipe.toml:7  build.variant  saw "cu310", wanted one of cpu, cu126, cu128  did you mean "cu128"?
          base.toml:12   gpu.archs[2]   saw "9.0b", wanted N.N
          recipe.toml    source.ref     saw nothing, wanted a tag, branch or commit
          fix   Correct the keys named above.
          more  torchbuild explain recipe-invalid"""
    )


def test_a_problem_without_a_file_names_the_line() -> None:
    """Where only one file is meant the line suffices."""
    assert problem_lines((Problem(path="a", seen="1", wanted="2", line=3),)) == (
        "line 3  a  saw 1, wanted 2",
    )
    assert problem_lines((Problem(path="a", seen="1", wanted="2"),)) == ("a  saw 1, wanted 2",)
    assert problem_lines(()) == ()


def test_only_the_tail_of_long_evidence_is_shown() -> None:
    """A log's last forty lines are enough to look at; the log itself is named."""
    error = HostError(
        "x-y", "what", fix="Do.", evidence=tuple(f"line {number}" for number in range(100)), link="notes.txt"
    )

    shown = error_text(error)

    assert "line 59" not in shown
    assert "line 60" in shown
    assert "  see   notes.txt" in shown


@pytest.mark.parametrize("error", [COMPILE, RECIPE], ids=lambda error: error.reference)
def test_the_coloured_text_is_the_plain_text(error: TorchbuildError) -> None:
    """Colours change looks, never words."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=200, color_system="standard")

    console.print(error_rich(error))

    assert error_rich(error).plain == error_text(error)
    assert "\x1b[1;31merror[" in stream.getvalue()


@pytest.mark.parametrize("error", [COMPILE, RECIPE], ids=lambda error: error.reference)
def test_a_program_gets_every_field(error: TorchbuildError) -> None:
    """The JSON form loses nothing, not even what is not shown."""
    fields = json.loads(json.dumps(error_json(error)))

    assert fields["family"] == type(error).__name__
    assert fields["exit_code"] == error.exit_code
    assert fields["evidence"] == list(error.evidence)
    assert [problem["path"] for problem in fields["problems"]] == [problem.path for problem in error.problems]
