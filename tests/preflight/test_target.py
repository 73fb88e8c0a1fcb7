"""The recipe against its target, and never against this machine's GPU."""

from __future__ import annotations

import pytest

from tests.preflight.stand_ins import CUDA, case, gpu, host, outcome, recipe
from torchbuild.preflight.target import (
    facts_allow,
    gpu_code_for_gpus,
    host_as_target,
    target_driver,
    verify_gpu,
)


def with_target(text: str, **target: str) -> str:
    """The recipe with a target."""
    return text + "[target]\n" + "".join(f"{key} = {value}\n" for key, value in target.items())


def test_without_a_driver_nobody_can_say() -> None:
    """A recipe without target.driver gets `not run`, never passed, and is told how to set it."""
    item = outcome(target_driver(case(CUDA, facts=True)), "target-driver")

    assert item.outcome == "not run"
    assert "target.driver" in item.fix


def test_the_machine_s_own_driver_is_not_the_target_s() -> None:
    """What is loaded here says nothing of where the wheel will run."""
    here = host(driver="580.65.06", gpus=(gpu(),))

    assert outcome(target_driver(case(CUDA, facts=True, machine=here)), "target-driver").outcome == "not run"


def test_a_machine_without_a_gpu_builds_for_any_driver() -> None:
    """It is the normal case: the target alone is weighed."""
    text = with_target(CUDA, driver='">=535"', gpus='["H100"]')

    item = outcome(target_driver(case(text, facts=True)), "target-driver")

    assert item.outcome == "passed"
    assert item.seen == ">=535"


def test_a_toolkit_that_is_newer_than_the_target_s_driver_fails() -> None:
    """The first classic trap: CUDA 12 on a target with driver 470, with the two facts that collide."""
    text = with_target(CUDA, driver='"470"')

    item = outcome(target_driver(case(text, facts=True)), "toolkit-newer-than-driver")

    assert item.outcome == "failed"
    assert item.is_fatal
    assert "525" in item.seen + item.wanted
    assert item.blames == "recipe"
    assert item.fix


def test_a_chip_that_the_toolkit_does_not_know_fails() -> None:
    """sm_120 and CUDA 12.4: no compiler is asked for that."""
    text = CUDA.replace('"9.0"', '"12.0"')

    item = outcome(facts_allow(case(text, facts=True)), "toolkit-unaware-of-chip")

    assert (item.outcome, item.is_fatal) == ("failed", True)


def test_a_recipe_of_another_package_is_not_weighed() -> None:
    """The facts speak of torch: nothing of theirs is said to have passed."""
    item = outcome(
        facts_allow(case(CUDA.replace("[wheel]", '[wheel]\npackage = "other"'))), "recipe-by-facts"
    )

    assert item.outcome == "not run"


@pytest.mark.parametrize(
    ("archs", "gpus", "wanted"),
    [
        ('["7.5", "8.0"]', '["sm_86"]', "passed"),
        ('["7.5", "9.0"]', '["sm_86"]', "failed"),
        ('["7.5+PTX"]', '["sm_86"]', "warned"),
        ('["9.0a"]', '["sm_90"]', "passed"),
        ('["9.0a"]', '["H100"]', "passed"),
        ('["9.0a+PTX"]', '["sm_100"]', "failed"),
        ('["8.6"]', '["sm_80"]', "failed"),
    ],
)
def test_each_gpu_finds_code_in_the_wheel(archs: str, gpus: str, wanted: str) -> None:
    """Machine code runs on its own major from its minor on, PTX on anything newer, `a` on its chip alone."""
    text = with_target(CUDA.replace('["7.5", "9.0"]', archs), gpus=gpus)

    assert outcome(gpu_code_for_gpus(case(text)), "gpu-code-for-gpu").outcome == wanted


def test_this_machine_can_be_the_target() -> None:
    """With --target-is-host its driver and its GPUs count, by the chips that the driver tells of."""
    here = host(driver="470.256.02", modules="proprietary", gpus=(gpu(), gpu()))

    target = host_as_target(recipe(CUDA), here).target

    assert (target.driver, target.gpus, target.kernel_modules) == ("470.256.02", ("sm_90",), "proprietary")


def test_a_wheel_that_must_run_on_a_gpu_needs_one_here() -> None:
    """`verify.level = "gpu"` without a GPU is told before the hours of a build, not after."""
    wanted = recipe(CUDA)
    asked = wanted.model_copy(update={"verify": wanted.verify.model_copy(update={"level": "gpu"})})

    without = outcome(verify_gpu(case(recipe=asked)), "verify-without-gpu")
    with_one = outcome(verify_gpu(case(recipe=asked, machine=host(gpus=(gpu(),)))), "verify-without-gpu")

    assert (without.outcome, without.is_fatal, with_one.outcome) == ("failed", True, "passed")


@pytest.mark.parametrize(("driver", "is_offered"), [("", False), ("550.54", True)])
def test_this_machine_s_driver_is_offered_where_there_is_one(driver: str, is_offered: bool) -> None:
    """An advice that changes nothing is none."""
    item = outcome(target_driver(case(CUDA, facts=True, machine=host(driver=driver))), "target-driver")

    assert item.outcome == "not run"
    assert ("--target-is-host" in item.fix) == is_offered
