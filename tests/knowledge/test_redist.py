"""What is known of NVIDIA's redist documents."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from torchbuild.knowledge.redist import cuda_components, redist_product
from torchbuild.model.part import PART_NAMES

CHECKED = re.compile(r"20\d\d-[01]\d-[0-3]\d|unconfirmed")
NEWS_OF_13 = {"cuda_crt", "libnvvm", "cuda_culibos"}


@pytest.mark.parametrize("part", ["cuda", "cudnn", "cusparselt", "nvshmem"])
def test_a_product_is_a_part_and_its_releases_are_sorted(part: str) -> None:
    """Each row belongs to a part of a toolchain, names full releases, and says where it is from."""
    fact = redist_product(part)

    assert part in PART_NAMES
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", release) for release in fact.releases)
    assert list(fact.releases) == sorted(fact.releases, key=Version)
    assert len(fact.source) > 10
    assert CHECKED.fullmatch(fact.checked)


@pytest.mark.parametrize("release", redist_product("cuda").releases)
def test_each_release_has_a_compiler_and_its_libraries(release: str) -> None:
    """Whatever moved from one component to another: all of it is taken, nothing twice, each with its reason."""
    facts = cuda_components(release)
    names = [fact.name for fact in facts]

    assert len(names) == len(set(names))
    assert {"cuda_nvcc", "cuda_cudart", "cuda_cccl", "libcublas"} <= set(names)
    assert (set(names) >= NEWS_OF_13) is (Version(release) >= Version("13"))
    assert len({"cuda_nvprof", "cuda_profiler_api"} & set(names)) == 1
    assert all(fact.why and len(fact.source) > 10 and CHECKED.fullmatch(fact.checked) for fact in facts)


def test_nothing_of_the_driver_is_taken() -> None:
    """A toolkit never brings a driver, samples, documentation or windows."""
    names = {fact.name for release in redist_product("cuda").releases for fact in cuda_components(release)}

    assert not {name for name in names if re.search("driver|nsight|demo|documentation|gdb|nvvp|fabric", name)}
