"""The host compiler: between what nvcc takes and what the tree asks for."""

from __future__ import annotations

import pytest

from torchbuild.advice.compilers import HostCompiler, NoCompiler, host_compiler
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import cuda_release


@pytest.mark.parametrize(
    ("torch", "cuda", "gcc"),
    [("2.6", "11.8", "11"), ("2.6", "12.4", "13"), ("2.8", "12.8", "14"), ("2.14", "13.0", "15")],
)
def test_the_newest_that_both_take_is_chosen(torch: str, cuda: str, gcc: str) -> None:
    """Neither nvcc's header nor the tree stops at it."""
    found = host_compiler(Wish(torch=torch), cuda_release(cuda))
    assert isinstance(found, HostCompiler)
    assert found.version == gcc


@pytest.mark.parametrize(
    ("torch", "cuda", "gcc"), [("2.6", "12.4", "14"), ("2.13", "12.6", "11.2"), ("2.6", "12.4", "8")]
)
def test_a_wished_one_outside_is_refused_with_what_forbids_it(torch: str, cuda: str, gcc: str) -> None:
    """Too new for nvcc, or too old for the tree."""
    found = host_compiler(Wish(torch=torch, gcc=gcc), cuda_release(cuda))
    assert isinstance(found, NoCompiler)
    assert {item.table for item in found.facts} <= {"host_compilers.nvcc", "host_compilers.torch"}


def test_a_pair_that_is_confirmed_to_break_is_refused() -> None:
    """CUDA 13's own headers end gcc 10, which its table takes; a report that nobody confirmed refuses nothing."""
    broken = host_compiler(Wish(torch="2.9", gcc="10"), cuda_release("13.0"))
    assert isinstance(broken, NoCompiler)
    assert [item.row for item in broken.facts] == ["gcc-10-cccl"]
    assert isinstance(host_compiler(Wish(torch="2.14", gcc="12"), cuda_release("13.0")), HostCompiler)


def test_without_a_toolkit_the_tree_alone_decides() -> None:
    """A wheel for the CPU takes what torch takes."""
    assert isinstance(host_compiler(Wish(torch="2.6", gcc="15"), None), HostCompiler)
    assert isinstance(host_compiler(Wish(torch="2.6", gcc="8"), None), NoCompiler)
