"""Host compilers of this machine against torch and the toolkit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, CUDA, case, gcc, host, outcome
from torchbuild.preflight.compilers import header_pairs, host_compiler


def weighed(text: str, *compilers: Any) -> Any:
    """What is said of these compilers."""
    return outcome(host_compiler(case(text, machine=host(compilers=compilers))), "host-compiler")


@pytest.mark.parametrize(
    ("text", "versions", "wanted"),
    [
        (CUDA, ("12.2.0",), "passed"),
        (CUDA, ("14.2.0",), "failed"),
        (CUDA, ("14.2.0", "13.3.0"), "passed"),
        (CPU, ("8.5.0",), "failed"),
        (CPU, ("14.2.0",), "passed"),
    ],
    ids=["fits", "too new for nvcc", "a second one fits", "too old for torch", "no nvcc asks"],
)
def test_some_compiler_must_fit(text: str, versions: tuple[str, ...], wanted: str) -> None:
    """Without one that is named, any of them will do; what is said of each stands in a fact."""
    item = weighed(text, *(gcc(version) for version in versions))

    assert item.outcome == wanted
    assert item.is_fatal == (wanted == "failed")


def test_the_compiler_that_the_recipe_names_must_fit() -> None:
    """Another one beside it does not help: it is not taken."""
    text = CUDA + '[toolchain]\ncxx = "g++-14"\n'

    assert weighed(text, gcc("14.2.0", "g++-14"), gcc("12.2.0")).outcome == "failed"


def test_a_distribution_s_own_toolkit_may_take_another() -> None:
    """Its packagers change the header that refuses: the table is a suspicion there, and a probe decides."""
    text = CUDA.replace('from = "redist"', 'from = "system"\npath = "/usr"')

    assert weighed(text, gcc("14.2.0")).outcome == "warned"


def test_no_compiler_is_told_with_the_command_that_brings_one() -> None:
    """One does not look up what a package is called."""
    item = weighed(CUDA)

    assert item.outcome == "failed"
    assert item.fix.startswith("Install")


def test_an_image_has_its_own_compilers() -> None:
    """Those of this machine say nothing."""
    text = CUDA + '[image]\nname = "b"\n'

    assert weighed(text, gcc("99.0")).outcome == "not run"


def test_headers_of_toolkit_and_c_library_can_contradict_each_other() -> None:
    """Glibc 2.41 and CUDA 12.4 of NVIDIA: no other compiler helps."""
    item = outcome(header_pairs(case(CUDA, machine=host(glibc="2.41"))), "headers-of-builder")

    assert (item.outcome, item.is_fatal) == ("failed", True)
    assert outcome(header_pairs(case(CUDA)), "headers-of-builder").outcome == "passed"


def test_the_suite_of_an_image_says_which_c_library_it_has() -> None:
    """An image of Debian 13 has glibc 2.41, whatever this machine has."""
    text = CUDA + '[image]\nname = "b"\nsuite = "trixie"\npackages = ["g++"]\n'

    assert outcome(header_pairs(case(text)), "headers-of-builder").outcome == "failed"
