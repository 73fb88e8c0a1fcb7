"""What compilers take of memory, as it is known."""

from __future__ import annotations

import re

import pytest

from torchbuild.knowledge.heavy_edges import heavy_edges, other_edges

ATEN = "caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen"


def first(name: str, program: str) -> float:
    """GB of the first row that fits."""
    rows = (row for row in heavy_edges() if re.search(row.pattern, name) and re.search(row.program, program))
    return next(rows).gb


@pytest.mark.parametrize(
    ("name", "program", "gb"),
    [
        (f"{ATEN}/native/transformers/cuda/flash_attn/kernels/flash_fwd_hdim96.cu.o", "nvcc", 5.3),
        (f"{ATEN}/native/cuda/AbsKernel.cu.o", "nvcc", 1.1),
        (f"{ATEN}/RegisterCPU.cpp.o", "c++", 2.1),
        (f"{ATEN}/Operators_0.cpp.o", "cuda-g++", 1.7),
        ("c10/CMakeFiles/c10.dir/core/Scalar.cpp.o", "c++", 0.3),
        (f"{ATEN}/native/TensorShape.cpp.o", "c++", 0.95),
    ],
)
def test_heavy_files_of_torch_are_known(name: str, program: str, gb: float) -> None:
    """Before a build has seen anything itself it knows which compilers are large."""
    assert first(name, program) == gb


def test_there_is_a_number_for_every_compiler() -> None:
    """The last row fits all."""
    assert (other_edges().pattern, other_edges().program) == ("", "")
    assert all(row.gb > 0 for row in heavy_edges())
