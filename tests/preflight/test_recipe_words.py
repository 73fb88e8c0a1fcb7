"""What a recipe itself says that is known to go wrong."""

from __future__ import annotations

import pytest

from tests.preflight.stand_ins import CPU, CUDA, case, host, outcome
from torchbuild.preflight.compilers import glibc_of_builder
from torchbuild.preflight.recipe_words import build_programs, many_architectures, native_code, pairs


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ('[toolchain]\ncmake = ">=4"\n', "warned"),
        ('[toolchain]\ncmake = ">=3.27"\n', "passed"),
        ('[build]\nrequires = ["setuptools>=82"]\n', "warned"),
        ('[toolchain]\ncmake = "<3.10"\n', "warned"),
        ("", ""),
    ],
    ids=["CMake 4 and torch 2.6", "open above", "setuptools 82", "too old", "left to us"],
)
def test_build_programs_must_be_ones_that_the_tree_works_with(more: str, wanted: str) -> None:
    """What is left out is bounded by us; what is named must leave a release."""
    found = list(build_programs(case(CPU + more)))

    assert {item.outcome for item in found} == ({wanted} if wanted else set())


def test_a_bound_that_somebody_read_is_no_doubt() -> None:
    """Torch 2.13 needs setuptools with a bound of its own, which stands in its tree."""
    text = CPU.replace("2.6.0", "2.10.0") + '[build]\nrequires = ["setuptools>=82"]\n'

    assert outcome(build_programs(case(text)), "build-program-bounds").outcome == "failed"


def test_a_long_list_of_architectures_is_told() -> None:
    """Seven chips in one library have overflown linkers."""
    text = CUDA.replace('["7.5", "9.0"]', '["5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0"]')

    assert outcome(many_architectures(case(text)), "archs-many").outcome == "warned"
    assert not list(many_architectures(case(CUDA)))


def test_code_for_the_builder_s_own_processor_is_told() -> None:
    """On another one the wheel ends at its first import."""
    text = CPU + '[build]\nenv = { CXXFLAGS = "-O2 -march=native" }\n'

    assert outcome(native_code(case(text)), "cpu-native").seen == "build.env.CXXFLAGS"
    assert not list(native_code(case(CPU)))


def test_a_toolkit_that_lacks_what_the_tree_links_is_suspected() -> None:
    """Torch 2.6 links libnvToolsExt, which newer toolkits lack; 12.6, with which it was released, does not."""
    text = CUDA.replace("12.4.1", "12.9.1")
    assert not list(pairs(case(CUDA.replace("12.4.1", "12.6.3"))))

    assert outcome(pairs(case(text)), "toolkit-tree-pair").outcome == "warned"
    assert not list(pairs(case(CUDA)))


@pytest.mark.parametrize(("glibc", "wanted"), [("2.28", "warned"), ("2.36", "passed"), ("2.100", "passed")])
def test_a_builder_newer_than_the_target_is_told(glibc: str, wanted: str) -> None:
    """What the wheel needs is compared later; that it may need too much is known now."""
    found = glibc_of_builder(case(CPU + f'[target]\nglibc = "{glibc}"\n', machine=host(glibc="2.36")))

    assert outcome(found, "glibc-of-builder").outcome == wanted
