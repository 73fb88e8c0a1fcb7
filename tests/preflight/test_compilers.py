"""Host compilers of this machine against torch and the toolkit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, CUDA, case, gcc, host, outcome
from torchbuild.preflight.compilers import header_pairs, host_compiler


def weighed(text: str, *compilers: Any) -> Any:
    """What is said of these compilers."""
    there = (*compilers, gcc(name="gcc"))
    return outcome(host_compiler(case(text, machine=host(compilers=there))), "host-compiler")


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


@pytest.mark.parametrize(
    ("name", "path"),
    [("c++", "/usr/bin/c++"), ("/opt/g/bin/g++-12", "/opt/g/bin/g++-12")],
    ids=["name", "path"],
)
def test_a_compiler_is_named_as_the_recipe_likes(name: str, path: str) -> None:
    """A name in a folder where builds look, or a full path."""
    text = CUDA + f'[toolchain]\ncxx = "{name}"\n'
    named = gcc(name=path.rpartition("/")[2], path=path)

    assert weighed(text, named).outcome == "passed"


def test_what_a_build_does_not_see_does_not_count() -> None:
    """Builds look in the system's folders, and not in PATH; a C compiler alone compiles no C++."""
    by_hand = gcc(path="/home/me/bin/g++", is_of_builds=False)

    for compilers in ((by_hand,), ()):
        item = weighed(CUDA, *compilers)
        assert (item.outcome, item.is_fatal) == ("failed", True)
        assert "g++" in item.what


def test_the_c_compiler_must_be_there_too() -> None:
    """A lock asks for both, an hour of downloads later or now."""
    item = weighed(CPU + '[toolchain]\ncc = "gcc-99"\n', gcc())

    assert item.outcome == "failed"
    assert "gcc-99" in item.what


def test_without_a_recipe_a_broken_compiler_is_told() -> None:
    """One that tells no version is none."""
    broken = gcc("", why="Exec format error")

    item = outcome(host_compiler(case(machine=host(compilers=(broken,)))), "host-compiler")

    assert item.outcome == "warned"
    assert "Exec format error" in item.seen


def test_a_distribution_s_own_toolkit_may_take_another() -> None:
    """Its packagers change the header that refuses: the table is a suspicion there, and a probe decides."""
    text = CUDA.replace('from = "redist"', 'from = "system"\npath = "/usr"')

    assert weighed(text, gcc("14.2.0")).outcome == "warned"


def test_no_compiler_is_told_with_what_brings_one() -> None:
    """Under the names that every lock asks for."""
    item = weighed(CUDA)

    assert item.outcome == "failed"
    assert item.fix.startswith("Install gcc and g++")


def test_an_advice_is_one_that_helps() -> None:
    """What the distribution has is not named where it is refused as well."""
    text = CPU.replace("2.6.0", "99.0.0")
    debian = weighed(text, gcc("12.2.0"))
    other = weighed(CUDA, gcc("14.2.0"))

    assert "gcc-12" not in debian.fix
    assert "gcc-12" in other.fix


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
