"""Options for compilers that swallow one another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe


@pytest.mark.parametrize(
    ("table", "line", "seen"),
    [
        ("env", "CFLAGS = '-I -fPIC'", "-I -fPIC"),
        ("env", "CXXFLAGS = '-O2 -D'", "-D"),
        ("env", "LDFLAGS = '-L -Wl,-z,now'", "-L -Wl,-z,now"),
        ("env", "CPPFLAGS = '-isystem -I/opt/include'", "-isystem -I/opt/include"),
        ("env", "NVCC_PREPEND_FLAGS = '-I -lineinfo'", "-I -lineinfo"),
        ("env", "CFLAGS = '-DX=\"a'", '"-DX=\\"a"'),
        ("cmake", "CMAKE_CXX_FLAGS = '-O2 -I -fPIC'", "-I -fPIC"),
        ("cmake", "CMAKE_SHARED_LINKER_FLAGS_RELEASE = '-L'", "-L"),
    ],
)
def test_an_option_that_swallows_the_next_is_refused(
    problem: Callable[..., Problem], least: str, table: str, line: str, seen: str
) -> None:
    """The compiler would take it without a word, and make another library than was meant."""
    found = problem(f"{least}\n[build.{table}]\n{line}\n")

    assert found.path == f"build.{table}.{line.partition(' ')[0]}"
    assert found.seen == seen


@pytest.mark.parametrize(
    "line",
    [
        "CFLAGS = '-I/opt/include -fPIC'",
        "CFLAGS = '-I /opt/include -fPIC'",
        "CFLAGS = '-I. -D NAME -include config.h -U X -Xpreprocessor -fopenmp -o'",
        "LDFLAGS = '-Xlinker -z -Xlinker now -L/opt/lib -l:libx.a'",
        "CXXFLAGS = ''",
        "OTHER = '-I -fPIC'",
    ],
)
def test_an_option_with_its_value_is_fine(load: Callable[..., Recipe], least: str, line: str) -> None:
    """Joined or behind it; and what is no list of options is not read as one."""
    assert load(f"{least}\n[build.env]\n{line}\n")
