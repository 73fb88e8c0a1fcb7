"""The stage that reads the wheel to its last byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import StageError
from torchbuild.model.lock import Lock
from torchbuild.report.events import Found
from torchbuild.stages import package


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """What the wheel must be is written down before there is one."""
    with nothing_moves():
        plan = package.plan(lock)

    assert plan.expected.version == "1.0.0+demo"
    assert plan.expected.python_tag == "cp313"
    assert plan.expected.forbidden_paths == ("/torchbuild",)


@pytest.mark.parametrize(
    ("number", "version"), [(0, "1.0.0+demo"), (1, "1.0.0+demo"), (2, "1.0.0+demo.post2")]
)
def test_a_build_number_becomes_a_post_release(lock: Lock, number: int, version: str) -> None:
    """As the trees themselves do it: from 2 on, before the local label."""
    changed = lock.model_copy(update={"wheel": lock.wheel.model_copy(update={"build_number": number})})

    assert package.plan(changed).expected.version == version


def test_a_wheel_as_locked_is_described(world: Any, lock: Lock, make_wheel: Callable[..., Any]) -> None:
    """Its digest, size and members are evidence; every check is a finding."""
    wheel = make_wheel(world.inside("{dist}"))

    result = package.run(package.plan(lock), world.context)

    assert dict(result.evidence)["wheel"] == wheel.name
    assert dict(result.evidence)["members"] == "4"
    assert {item.outcome for item in result.findings} <= {"passed", "not run"}
    assert [event.finding for event in world.events if isinstance(event, Found)] == list(result.findings)


def test_a_wheel_that_is_another_one_is_refused_with_all_that_is_wrong(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """Version and requirements are told at once, not one a run."""
    make_wheel(world.inside("{dist}"), version="1.0.0+debian", requires=("filelock",))

    with pytest.raises(StageError) as caught:
        package.run(package.plan(lock), world.context)

    assert caught.value.reference == "wheel-not-as-locked"
    assert any("1.0.0+debian" in line for line in caught.value.why)
    assert any("filelock" in line for line in caught.value.why)


def test_no_wheel_is_no_success(world: Any, lock: Lock) -> None:
    """Somebody removed it: compile must run again."""
    with pytest.raises(StageError) as caught:
        package.run(package.plan(lock), world.context)

    assert caught.value.reference == "wheel-missing"
