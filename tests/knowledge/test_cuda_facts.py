"""Facts about CUDA toolkits."""

from __future__ import annotations

import re

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.cuda_facts import (
    CudaWheels,
    cuda_pairs,
    cuda_wheels,
    newest_of,
    reported_pairs,
    without_nvcc,
)

EVERY = (
    "nvidia-cublas",
    "nvidia-cuda-cccl",
    "nvidia-cuda-crt",
    "nvidia-cuda-cupti",
    "nvidia-cuda-nvcc",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-curand",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-nvjitlink",
    "nvidia-nvtx",
    "nvidia-nvvm",
)


@pytest.mark.parametrize("row", cuda_wheels(), ids=lambda row: row.version)
def test_a_release_is_whole_and_of_one_piece(row: CudaWheels) -> None:
    """Every part that a build links is there, exactly; the halves of the compiler have one number."""
    assert set(EVERY) <= set(row.wheels)
    assert all(re.fullmatch(r"[0-9]+(\.[0-9]+)+", version) for version in row.wheels.values())
    compiler = {row.wheels[name] for name in ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt")}
    assert len(compiler) == 1
    assert compiler.pop().startswith(row.version.rpartition(".")[0] + ".")
    assert row.folder == f"nvidia/cu{row.version.partition('.')[0]}"
    assert row.source
    assert re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", row.checked)


def test_releases_are_in_order() -> None:
    """The newest of a line is its last row."""
    versions = [Version(row.version) for row in cuda_wheels()]

    assert versions == sorted(set(versions))
    assert newest_of("13.0.2") is not None
    assert newest_of("13.0.99") is None
    assert newest_of("1") is None


def test_what_is_no_toolkit_is_known() -> None:
    """And says what is in it instead."""
    assert (found := without_nvcc("12.4.1")) is not None
    assert "ptxas" in found.has
    assert without_nvcc("11.8.0") is not None
    assert without_nvcc("13.0.2") is None
    assert without_nvcc("no version") is None


def test_each_suspicion_is_a_range_with_a_remedy() -> None:
    """A row that can never be raised, or that helps nobody, is none."""
    for pair in cuda_pairs():
        assert any((pair.torch, pair.cuda, pair.glibc))
        assert all(SpecifierSet(text) for text in (pair.torch, pair.cuda, pair.glibc) if text)
        assert bool(pair.lacks) != bool(pair.said)
        assert pair.source
        assert pair.fix.endswith(".")


def test_what_is_not_known_raises_nothing() -> None:
    """An odd release is no reason for a suspicion."""
    (pair,) = (item for item in cuda_pairs() if item.glibc)

    assert pair.raises(torch="2.6.0", cuda="12.4", glibc="2.41")
    assert not pair.raises(torch="2.6.0", cuda="12.4", glibc="2.36")
    assert not pair.raises(torch="2.6.0", cuda="13.0", glibc="2.41")
    assert not pair.raises(torch="2.6.0", cuda="12.4", glibc="")


def test_what_upstream_released_is_no_suspicion() -> None:
    """Torch 2.6 was released with CUDA 12.6: that somebody's 12.6 lacked a library says nothing of the pair."""
    assert reported_pairs(torch="2.6.0", cuda="12.6.3", machine="x86_64") == ()
    names = {row.name for row in reported_pairs(torch="2.6.0", cuda="13.0.2", machine="x86_64")}
    assert names == {"libnvToolsExt", "thrust beside cuda.h"}
