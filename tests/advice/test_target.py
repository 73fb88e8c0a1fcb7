"""The GPUs of a wish: names and architectures become chips, or conflicts that say what to give instead."""

from __future__ import annotations

import pytest

from torchbuild.advice.target import case_of, runs_on
from torchbuild.advice.wish import Wish
from torchbuild.model.gpu_arch import parse_arch


def _case(*gpus: str, archs: tuple[str, ...] = ()):  # noqa: ANN202  the pair as it is
    return case_of(Wish(torch="2.6", gpus=gpus, archs=archs))


@pytest.mark.parametrize("text", ["GTX 1080 Ti", "sm_61", "6.1", "compute_61", "SM_61"])
def test_a_chip_is_known_by_its_name_and_by_its_architecture(text: str) -> None:
    """A product, ``sm_61`` and ``6.1`` all mean code for 6.1."""
    case, conflicts = _case(text)
    assert conflicts == ()
    assert [item.capability for item in case.archs] == ["6.1"]


def test_the_same_chip_twice_is_compiled_for_once() -> None:
    """Two products of one capability, in any order, are one architecture."""
    one, _ = _case("RTX 4090", "L40S", "GTX 1080 Ti")
    other, _ = _case("GTX 1080 Ti", "L40S", "RTX 4090")
    assert [item.capability for item in one.archs] == ["6.1", "8.9"]
    assert one.archs == other.archs


def test_a_name_of_several_chips_is_not_guessed() -> None:
    """GTX 860M is Kepler or Maxwell: the conflict names both and how to tell."""
    _, (conflict,) = _case("GTX 860M")
    assert conflict.reference == "gpu-unknown"
    assert "sm_30 or sm_50" in conflict.what
    assert "nvidia-smi" in conflict.fix


@pytest.mark.parametrize("text", ["GTX 1080 Tii", "", "sm_999", "99.9", "a" * 500, "\x00", "sm_61; rm"])
def test_what_is_no_gpu_is_told_and_nothing_else_happens(text: str) -> None:
    """Any text that is no GPU is a conflict with two facts."""
    _, (conflict,) = _case(text)
    assert conflict.reference == "gpu-unknown"
    assert len(conflict.facts) == 2


@pytest.mark.parametrize(
    ("code", "gpu", "runs"),
    [("6.0", "6.1", True), ("6.1", "6.0", False), ("7.0", "7.5", True), ("8.0", "9.0", False),
     ("9.0a", "9.0", True), ("10.0a", "10.3", False), ("10.0f", "10.3", True), ("12.0", "12.1", True)],
)  # fmt: skip
def test_machine_code_runs_within_its_major(code: str, gpu: str, *, runs: bool) -> None:
    """Code for X.y runs on X.z with z at least y; code with an ``a`` on its own chip only."""
    case, _ = _case(gpu)
    assert runs_on(parse_arch(code), case.gpus[0]) is runs


def test_a_list_of_architectures_is_taken_as_it_is() -> None:
    """What a recipe lists is compiled, whatever the GPUs are."""
    case, _ = _case("RTX 4090", archs=("8.6", "9.0a+PTX"))
    assert [item.torch_item for item in case.archs] == ["8.6", "9.0a+PTX"]
