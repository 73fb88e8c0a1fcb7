"""What rules a toolkit out for a target, told so that a person can act."""

from __future__ import annotations

from torchbuild.advice.answer import Advice
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def _references(advice: Advice) -> set[str]:
    return {item.reference for item in advice.conflicts}


def test_ptx_alone_needs_a_driver_that_can_translate_it() -> None:
    """A GPU that a list reaches by PTX only is refused on a driver older than the toolkit, and an older toolkit is found."""
    only = ("7.0+PTX",)
    fixed = solve(Wish(torch="2.6", gpus=("H100",), driver="525", archs=only, cuda="12.6"))
    assert _references(fixed) == {"ptx-newer-than-driver"}
    assert all(len(item.facts) > 1 for item in fixed.conflicts)
    free = solve(Wish(torch="2.6", gpus=("H100",), driver="525", archs=only))
    assert free.value("cuda.version").startswith("11.8.")
    assert solve(Wish(torch="2.6", gpus=("H100",), driver="560.35.05", archs=only, cuda="12.6")).is_possible
    own = ("9.0", "12.0+PTX")
    assert solve(Wish(torch="2.8", gpus=("H100",), driver="535", archs=own, cuda="12.8")).is_possible


def test_ptx_alone_without_a_driver_is_told_as_not_weighed() -> None:
    """Nobody knows whether the target translates it: that is said, and not taken for a yes."""
    advice = solve(Wish(torch="2.6", gpus=("H100",), archs=("7.0+PTX",), cuda="12.6"))
    assert any("H100" in note and "PTX" in note for note in advice.notes)


def test_why_forward_compatibility_does_not_help_is_told() -> None:
    """Who asks for the package learns whether the branch, the product line or a missing name is in the way."""
    lines = {
        "RTX 4090": ("535", "geforce products may not use forward compatibility"),
        "A100": ("550", "works on driver branches 535, 570"),
        "sm_80": ("535", "names no product"),
    }
    for gpu, (driver, said) in lines.items():
        advice = solve(Wish(torch="2.11", gpus=(gpu,), driver=driver, cuda="13.0", forward_compat=True))
        assert _references(advice) == {"toolkit-newer-than-driver"}
        assert any(fact.row == "driver" for item in advice.conflicts for fact in item.facts), gpu
        assert any(said in fact.says for item in advice.conflicts for fact in item.facts), gpu


def test_a_board_is_told_which_toolkits_its_system_runs() -> None:
    """The sentence holds for every toolkit that is ruled out, and no toolkit is offered that is not known."""
    advice = solve(Wish(torch="1.13", gpus=("Jetson TX2",), machine="aarch64"))
    assert [item.what for item in advice.conflicts] == ["the system images of Jetson TX2 run CUDA 10.2 only"]
    assert "10.2" not in advice.conflicts[0].fix
