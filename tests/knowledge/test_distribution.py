"""Programs that have other machines compile, as they are known."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import get_args

import pytest

from torchbuild.knowledge.distribution import distribution_engine, what_stays
from torchbuild.model.recipe_distribute import Distribute

LAUNCHER = Path(__file__).parents[2] / "torchbuild" / "shim" / "launch.c"
ENGINES = get_args(Distribute.model_fields["engine"].annotation) or ("distcc",)


@pytest.mark.parametrize("name", ENGINES)
def test_each_engine_of_a_recipe_has_a_row(name: str) -> None:
    """Its program, its port, its package."""
    row = distribution_engine(name)

    assert row.program
    assert row.package
    assert 0 < row.port < 1 << 16


def test_each_word_of_the_launcher_is_explained() -> None:
    """What it counts is told in words, with the reason."""
    said = set(re.findall(r'(?:return|\?) "([a-z]+)"', LAUNCHER.read_text(encoding="utf-8"))) - {"language"}

    assert said <= {row.word for row in what_stays()}
    assert all(not row.why.endswith(".") for row in what_stays())


@pytest.mark.skipif(shutil.which("distcc") is None, reason="no distcc here")
def test_the_program_is_called_so() -> None:
    """On Debian, which this machine is where it has one."""
    assert shutil.which(distribution_engine("distcc").program)
