"""The builder: old enough for the target, with a compiler that toolkit and tree take."""

from __future__ import annotations

from torchbuild.advice.builders import builder_for
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import cuda_release


def _builder(wish: Wish, cuda: str) -> tuple[str, str] | None:
    found = builder_for(wish, cuda_release(cuda) if cuda else None)
    return (found.distribution.name, found.compiler.version) if found else None


def test_the_newest_suite_that_goes_with_toolkit_and_tree_is_taken() -> None:
    """Debian 13's headers contradict CUDA before 13; the newest gcc that nvcc takes is used."""
    assert _builder(Wish(torch="2.9"), "13.0") == ("debian-13", "14")
    assert _builder(Wish(torch="2.9"), "12.8") == ("debian-12", "12")
    assert _builder(Wish(torch="2.6"), "11.8") == ("debian-12", "11")


def test_a_builder_is_no_newer_than_its_target() -> None:
    """What is built runs on the target's C library; where no suite is so old, another distribution is named."""
    assert _builder(Wish(torch="2.6", glibc="2.31"), "11.8") == ("debian-11", "10")
    assert _builder(Wish(torch="2.14", glibc="2.28"), "13.2") == ("alma-8", "14")
    assert _builder(Wish(torch="2.14", glibc="2.17"), "13.2") is None


def test_a_wished_compiler_decides_where_it_is_built() -> None:
    """A distribution without it does not fit."""
    assert _builder(Wish(torch="2.9", gcc="12"), "13.0") == ("debian-13", "12")
    assert _builder(Wish(torch="2.9", gcc="11"), "12.8") == ("debian-12", "11")
