"""What the answer to a wish looks like: short, with two facts, and with ways out that were tried."""

from __future__ import annotations

import pytest

from torchbuild.advice.answer import Advice
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def _references(advice: Advice) -> set[str]:
    return {item.reference for item in advice.conflicts}


def test_a_compiler_that_no_toolkit_takes_is_told_in_one_line() -> None:
    """One conflict names the compiler against the likeliest toolkit, and not against each of twenty."""
    advice = solve(Wish(torch="2.6", gpus=("A100",), gcc="15", driver="550"))
    assert _references(advice) == {"compiler-outside-toolkit", "toolkit-newer-than-driver"}
    assert all(len(item.facts) <= 5 for item in advice.conflicts)
    assert advice.ways[0].what == "another gcc than 15"


def test_a_release_whose_toolkits_nobody_read_is_weighed_by_the_one_before_it() -> None:
    """A floor that was not read is not taken for none, and is told as unconfirmed."""
    advice = solve(Wish(torch="2.15", gpus=("A100",), cuda="12.1"))
    assert _references(advice) == {"torch-refuses-toolkit"}
    assert any("nobody read it" in item.says for item in advice.unconfirmed)


def test_a_jetson_is_no_x86_64() -> None:
    """A wheel for a Jetson is for aarch64, and the way is told."""
    advice = solve(Wish(torch="2.8", gpus=("Jetson AGX Orin",)))
    assert _references(advice) == {"machine-not-of-gpu"}
    assert solve(Wish(torch="2.8", gpus=("Jetson AGX Orin",), machine="aarch64")).is_possible


def test_a_product_may_need_other_modules_than_its_chip() -> None:
    """Grace Hopper needs the open kernel modules, an H100 does not."""
    assert solve(Wish(torch="2.8", gpus=("H100",), driver="570", modules="proprietary")).is_possible
    grace = solve(Wish(torch="2.8", gpus=("GH200",), driver="570", modules="proprietary", machine="aarch64"))
    assert _references(grace) == {"kernel-modules-wrong"}


def test_chips_that_no_toolkit_has_in_common_are_one_conflict() -> None:
    """A Kepler and a Blackwell card: one line, both windows."""
    advice = solve(Wish(torch="2.8", gpus=("sm_37", "sm_120")))
    assert "chips-share-no-toolkit" in _references(advice) | {
        item.reference for item in solve(Wish(torch="2.8", archs=("3.7", "12.0"))).conflicts
    }


def test_chips_that_no_driver_has_in_common_are_refused_without_a_driver_too() -> None:
    """Kepler ended with 470 and Ada began with 520: no machine can have both, whatever its driver."""
    assert "chips-share-no-driver" in _references(solve(Wish(torch="2.3", gpus=("K80", "RTX 4090"))))
    assert solve(Wish(torch="2.8", gpus=("GTX 1080 Ti", "RTX 4090"))).is_possible


def test_ptx_is_made_only_where_the_driver_can_translate_it() -> None:
    """As new as the toolkit's own driver: PTX of the newest architecture; else machine code alone."""
    old = solve(Wish(torch="2.6", gpus=("A100", "RTX 3090"), driver="535", cuda="12.4"))
    new = solve(Wish(torch="2.6", gpus=("RTX 3090", "A100"), driver="550.54.15", cuda="12.4"))
    assert old.value("cuda.archs") == "8.0, 8.6"
    assert new.value("cuda.archs") == "8.0, 8.6+PTX"


def test_without_a_gpu_the_wheel_is_for_the_cpu() -> None:
    """Nothing of CUDA is chosen where nothing asks for it."""
    advice = solve(Wish(torch="2.13"))
    assert advice.is_possible
    assert advice.value("wheel.local") == "cpu"
    assert not [item for item in advice.choices if item.key.startswith(("cuda", "nccl", "cudnn"))]


def test_the_builder_is_old_enough_for_target_and_toolkit() -> None:
    """CUDA 12.4's headers contradict those of Debian 13: the image is an older one."""
    assert solve(Wish(torch="2.6", gpus=("A100",), cuda="12.4")).value("image.suite") == "bookworm"
    assert solve(Wish(torch="2.9", gpus=("A100",), cuda="13.0")).value("image.suite") == "trixie"
    old = solve(Wish(torch="2.6", gpus=("A100",), cuda="12.4", glibc="2.28"))
    assert old.value("image.suite") == ""
    assert any("glibc 2.28 or older, such as" in item for item in old.notes)


def test_a_choice_says_why_in_one_sentence_and_by_which_facts() -> None:
    """No line of a recipe stands without a reason."""
    for choice in solve(Wish(torch="2.6", gpus=("GTX 1080 Ti",), driver="535")).choices:
        assert choice.why
        assert choice.facts, choice.key


@pytest.mark.parametrize("cuda", ["9.9", "99.0", "junk", "12.7"])
def test_a_toolkit_that_does_not_exist_is_told(cuda: str) -> None:
    """There is no CUDA 12.7, and no other is taken in its place."""
    assert _references(solve(Wish(torch="2.6", gpus=("A100",), cuda=cuda))) == {"cuda-release-unknown"}
