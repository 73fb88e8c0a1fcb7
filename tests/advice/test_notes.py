"""What is said beside the choices: what was not weighed, and what it costs."""

from __future__ import annotations

from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def _said(word: str, wish: Wish) -> bool:
    return any(word in note for note in solve(wish).notes)


def test_a_board_is_not_asked_for_a_driver() -> None:
    """Its system image brings the driver, and was weighed: nothing is left open."""
    assert not _said("no driver is named", Wish(torch="2.9", gpus=("Thor",), machine="aarch64"))
    assert _said("no driver is named", Wish(torch="2.9", gpus=("A100",)))


def test_what_rests_on_forward_compatibility_is_told() -> None:
    """PTX that only the package translates is no less a reason to have it than a toolkit that only it starts."""
    may = Wish(torch="2.14", gpus=("A30",), driver="580", forward_compat=True)
    assert solve(may).value("cuda.archs") == "8.0+PTX"
    assert _said("the forward-compatibility package of CUDA 13.2", may)
    assert not _said("forward-compatibility", may.model_copy(update={"driver": "620", "cuda": "13.2"}))


def test_the_trap_in_a_name_is_told() -> None:
    """An RTX 6000 is three cards: which one was taken, and that there are others, is said."""
    assert _said("RTX 6000 Ada Generation", Wish(torch="2.6", gpus=("RTX 6000",), driver="560"))
    assert _said("20 series", Wish(torch="2.6", gpus=("RTX 2050",), driver="560"))


def test_no_compiler_is_made_up_for_a_system_that_nobody_knows() -> None:
    """CentOS 7 has no g++-16: where no known distribution fits, the line is left out."""
    assert solve(Wish(torch="2.14", glibc="2.17")).value("toolchain.cxx") == ""
    assert solve(Wish(torch="2.14", glibc="2.17", gcc="13")).value("toolchain.cxx") == "g++-13"


def test_a_patch_release_that_nobody_knows_is_told() -> None:
    """2.6.1 may exist by now; that it is not among those known is said."""
    assert _said("2.6.1", Wish(torch="2.6.1"))
    assert not _said("2.6.0", Wish(torch="2.6.0"))
    assert not _said("2.6.0", Wish(torch="2.6"))
