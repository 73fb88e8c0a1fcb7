"""What the compiler's cache said of each call, and of which edge that was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.cache_calls import CacheCall, outcomes_by_object, parse_statslog, source_of

STATSLOG = """\
# /torchbuild/source/aten/src/A.cpp
direct_cache_miss
local_storage_hit
preprocessed_cache_hit
# /torchbuild/source/c10/B.cpp
cache_miss
direct_cache_miss
# /torchbuild/source/c10/C.cpp
direct_cache_hit
# /torchbuild/source/c10/D.cpp
unsupported_code_directive
"""


def test_each_call_has_an_outcome() -> None:
    """Found directly or after preprocessing is a hit; what no cache takes is neither."""
    assert [call.outcome for call in parse_statslog(STATSLOG)] == ["hit", "miss", "hit", "other"]


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("c10/CMakeFiles/c10.dir/core/A.cpp.o", "c10/core/A.cpp"),
        ("caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/A.cpp.o", "aten/src/A.cpp"),
        ("a/b/CMakeFiles/t.dir/__/__/__/x/A.cu.o", "x/A.cu"),
        ("CMakeFiles/t.dir/main.c.o", "main.c"),
        ("plain.o", "plain"),
        ("lib/libc10.so", "lib/libc10.so"),
    ],
)
def test_an_object_tells_its_source(output: str, source: str) -> None:
    """As CMake names objects: below the target's folder, with `__` for the folder above."""
    assert source_of(output) == source


def test_calls_are_joined_with_edges_by_their_source() -> None:
    """The same name in another folder is another file; a source compiled twice with two ends is said to be mixed."""
    calls = [
        *parse_statslog(STATSLOG),
        CacheCall("/torchbuild/source/two/A.cpp", "miss"),
        CacheCall("/torchbuild/source/three/E.cpp", "miss"),
        CacheCall("/torchbuild/source/three/E.cpp", "hit"),
    ]
    outputs = [
        "caffe2/CMakeFiles/t.dir/__/aten/src/A.cpp.o",
        "two/CMakeFiles/t.dir/A.cpp.o",
        "three/CMakeFiles/t.dir/E.cpp.o",
        "four/CMakeFiles/t.dir/A.cpp.o",
        "lib/A.cpp",
    ]

    assert outcomes_by_object(calls, outputs) == {outputs[0]: "hit", outputs[1]: "miss", outputs[2]: "mixed"}


@given(st.text())
def test_no_text_brings_it_down(text: str) -> None:
    """A log that was cut off tells what it tells."""
    assert all(call.source for call in parse_statslog(text))
