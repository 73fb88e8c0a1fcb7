"""Targets of a build tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.resolve.targets import is_target, near_targets, targets

TREE = """\
# CMAKE generated file: DO NOT EDIT!
ninja_required_version = 1.5
rule CXX
  command = /bin/true $in
rule LINK
  command = /bin/true

build CMakeFiles/edit_cache.util: phony
build cmake_object_order_depends_target_c10: phony || .
build c10/CMakeFiles/c10.dir/core/Device.cpp.o: CXX a.cpp || cmake_object_order_depends_target_c10
  FLAGS = -O2
build lib/libc10.so | with$ space.imp: LINK c10/CMakeFiles/c10.dir/core/Device.cpp.o $
    c10/CMakeFiles/c10.dir/core/Other.cpp.o
build a$:b $
   c$$d: phony lib/libc10.so
build c10: phony lib/libc10.so
build c10/CMakeFiles/c10.dir/core/Other.cpp.o: CXX a.cpp
build all: phony c10
"""


def test_every_output_of_the_file_is_a_target() -> None:
    """Targets, libraries and objects; escapes are taken out, and inputs are none."""
    assert targets(TREE) == (
        "CMakeFiles/edit_cache.util",
        "cmake_object_order_depends_target_c10",
        "c10/CMakeFiles/c10.dir/core/Device.cpp.o",
        "lib/libc10.so",
        "with space.imp",
        "a:b",
        "c$d",
        "c10",
        "c10/CMakeFiles/c10.dir/core/Other.cpp.o",
        "all",
    )


def test_ninja_itself_says_the_same(tmp_path: Path) -> None:
    """The list is the one that `ninja -t targets all` prints."""
    (tmp_path / "build.ninja").write_text(TREE, encoding="utf-8")
    ninja = Path(sys.executable).parent / "ninja"
    argv = [str(ninja), "-C", str(tmp_path), "-t", "targets", "all"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    said = {line.rpartition(": ")[0] for line in done.stdout.splitlines() if not line.startswith("ninja:")}

    assert set(targets(TREE)) == said


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("c11", "c10"),
        ("libc10.so", "lib/libc10.so"),
        ("Device.cpp.o", "c10/CMakeFiles/c10.dir/core/Device.cpp.o"),
        ("lib/libc10.s", "lib/libc10.so"),
    ],
    ids=["letter", "library", "object", "path"],
)
def test_what_was_probably_meant_comes_first(name: str, first: str) -> None:
    """A target, or the end of a path."""
    assert near_targets(name, TREE)[0] == first


def test_what_is_like_nothing_has_no_neighbour() -> None:
    """And CMake's own steps are not offered."""
    assert near_targets("zzzzzz", TREE) == ()
    assert near_targets("edit_cache.util", TREE) == ()


@given(st.text(alphabet=st.sampled_from("build :$|\nx/."), max_size=100), st.text(max_size=10))
def test_any_text_has_its_targets(text: str, name: str) -> None:
    """A torn file is no crash."""
    assert set(near_targets(name, text)) <= set(targets(text))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("c10", True),
        ("./lib/../lib/libc10.so", True),
        ("with space.imp", True),
        ("a.cpp", True),
        ("a.cpp^", True),
        ("all", True),
        ("c11", False),
        ("libc10.so", False),
        ("CXX", False),
        ("c11^", False),
        ("", False),
    ],
)
def test_whether_ninja_takes_a_name_is_known(tmp_path: Path, name: str, known: bool) -> None:
    """As ninja itself judges it, by the file alone: nothing is built to find out."""
    (tmp_path / "build.ninja").write_text(TREE, encoding="utf-8")
    (tmp_path / "a.cpp").touch()
    ninja = Path(sys.executable).parent / "ninja"
    argv = [str(ninja), "-C", str(tmp_path), "-n", name]
    said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    assert is_target(name, TREE) is known
    assert (said.returncode == 0) is known, said.stdout + said.stderr
