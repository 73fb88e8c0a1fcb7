"""What stands before each compiler, and in no lock."""

from __future__ import annotations

from collections.abc import Callable

from torchbuild.model.lock import Expectation, Lock
from torchbuild.resolve.frontend import front_end
from torchbuild.resolve.launchers import launched, launchers


def expectation(key: str, value: str) -> Expectation:
    """As a lock has it."""
    return Expectation(reference="gate-compiler", key=key, kind="text", value=value, why="toolchain")


EXPECT = (
    expectation("CMAKE_C_COMPILER_LAUNCHER", ""),
    expectation("CMAKE_CXX_COMPILER_LAUNCHER", "/usr/bin/ccache"),
    expectation("CMAKE_CUDA_COMPILER_LAUNCHER", ""),
    expectation("CMAKE_CXX_FLAGS", ""),
)


def test_it_stands_before_what_nothing_stands_before() -> None:
    """A compiler cache keeps its place: it calls the launcher by itself, where it has nothing."""
    assert launchers(EXPECT) == {
        "CMAKE_C_COMPILER_LAUNCHER": "{shim}/launch",
        "CMAKE_CUDA_COMPILER_LAUNCHER": "{shim}/launch",
    }


def test_the_gate_compares_with_it() -> None:
    """What CMake was told is what must have arrived; all else is as locked."""
    values = {item.key: item.value for item in launched(EXPECT)}

    assert values == {
        "CMAKE_C_COMPILER_LAUNCHER": "/torchbuild/shim/launch",
        "CMAKE_CXX_COMPILER_LAUNCHER": "/usr/bin/ccache",
        "CMAKE_CUDA_COMPILER_LAUNCHER": "/torchbuild/shim/launch",
        "CMAKE_CXX_FLAGS": "",
    }


def test_the_front_end_hands_it_to_cmake(make_lock: Callable[..., Lock]) -> None:
    """By the variables that every CMake reads."""
    environ = dict(front_end(make_lock(expect=EXPECT)).environ)

    assert environ["CMAKE_C_COMPILER_LAUNCHER"] == "{shim}/launch"
    assert "CMAKE_CXX_COMPILER_LAUNCHER" not in environ


def test_it_stands_before_sccache_which_cannot_call_it() -> None:
    """Its server starts compilers: what stands there hands them over, and asks in their place."""
    asked = tuple(
        expectation(f"CMAKE_{language}_COMPILER_LAUNCHER", "/usr/local/bin/sccache")
        for language in ("C", "CXX", "CUDA")
    )

    assert set(launchers(asked).values()) == {"{shim}/launch"}
    assert {item.value for item in launched(asked)} == {"/torchbuild/shim/launch"}
