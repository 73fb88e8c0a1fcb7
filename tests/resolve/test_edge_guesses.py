"""What an edge takes that no build here has made yet."""

from __future__ import annotations

import pytest

from torchbuild.resolve.edge_guesses import edge_guesses

ATEN = "caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen"
GUESSES = edge_guesses()


@pytest.mark.parametrize(
    ("heavier", "lighter"),
    [
        (f"{ATEN}/RegisterCPU.cpp.o", f"{ATEN}/Context.cpp.o"),
        (f"{ATEN}/core/Operators_0.cpp.o", f"{ATEN}/native/cpu/AddKernel.cpp.AVX2.cpp.o"),
        (f"{ATEN}/native/cpu/FlashAttentionKernel.cpp.AVX512.cpp.o", f"{ATEN}/RegisterCPU.cpp.o"),
        (f"{ATEN}/native/cpu/AddKernel.cpp.AVX2.cpp.o", f"{ATEN}/native/Cross.cpp.o"),
        (f"{ATEN}/functorch/BatchRulesModules.cpp.o", f"{ATEN}/native/Cross.cpp.o"),
        (f"{ATEN}/native/cuda/AbsKernel.cu.o", f"{ATEN}/native/Cross.cpp.o"),
        (f"{ATEN}/native/Cross.cpp.o", "c10/CMakeFiles/c10.dir/core/Scalar.cpp.o"),
        ("lib/libtorch_cuda.so", "lib/libc10.so"),
        ("lib/libc10.so", ""),
    ],
)
def test_heavy_edges_are_known_before_they_are_met(heavier: str, lighter: str) -> None:
    """A first build is told of what comes at its end."""
    if lighter:
        assert GUESSES.of(heavier) > GUESSES.of(lighter)
        assert GUESSES.kind(heavier) != GUESSES.kind(lighter)
    assert GUESSES.of(heavier) > 0


def test_a_precompiled_header_is_a_large_file() -> None:
    """Out of the cache it takes far longer than an object."""
    assert GUESSES.of_hit("caffe2/CMakeFiles/torch_cpu.dir/cmake_pch.hxx.gch") > 10 * GUESSES.of_hit(
        "a.cpp.o"
    )


@pytest.mark.parametrize("name", ["", "\n", "x" * 10_000, "\x1b[31m", "a.o\n"], ids=repr)
def test_every_name_has_a_time(name: str) -> None:
    """The last row fits all."""
    assert GUESSES.of(name) > 0
    assert GUESSES.of_hit(name) > 0
