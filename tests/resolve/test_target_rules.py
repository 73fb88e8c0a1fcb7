"""What the table [target] must be beyond types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe

Load = Callable[..., Recipe]
OnlyProblem = Callable[..., Problem]


@pytest.mark.parametrize("driver", ["535", "==535.129.03", ">=535", ">=525,<580"])
def test_a_driver_is_one_or_a_range(load: Load, least: str, driver: str) -> None:
    """Each of these says which is the oldest driver that the wheel must run on."""
    assert load(f'{least}[target]\ndriver = "{driver}"').target.driver == driver


@pytest.mark.parametrize("driver", ["<580", "~=535", "latest", "", "r535"])
def test_any_other_driver_is_told_with_its_line(problem: OnlyProblem, least: str, driver: str) -> None:
    """What has no oldest driver weighs nothing; silence about it would be taken for a yes."""
    found = problem(f'{least}\n[target]\ndriver = "{driver}"')

    assert (found.path, found.seen) == ("target.driver", f'"{driver}"')
    assert "such as 535" in found.wanted
    assert found.line is not None


@pytest.mark.parametrize(
    ("gpus", "index"), [('["GTX 1080 Ti", " "]', 1), ('["A\\nB"]', 0), ('["sm_61", "sm_61"]', 1)]
)
def test_a_gpu_has_a_name_and_is_there_once(problem: OnlyProblem, least: str, gpus: str, index: int) -> None:
    """Which names are known is a matter of facts, and weighed when the recipe is locked."""
    assert problem(f"{least}[target]\ngpus = {gpus}").path == f"target.gpus[{index}]"
