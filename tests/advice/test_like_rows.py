"""Which lines of a wheel go into a recipe that is to be like it."""

from __future__ import annotations

from typing import Any

from torchbuild.advice.like_line import LikeLine, LikeParts
from torchbuild.advice.like_rows import fitting_rows
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish

WISH = Wish(torch="2.6.0", gpus=("sm_90",), cuda="12.4.1", cudnn="9.1.0.70", nccl="2.21.5")
LINES = {
    "cuda.version": "12.4.1",
    "cuda.from": "redist",
    "cudnn.version": "9.1.0.70",
    "cudnn.from": "wheels",
    "cusparselt.version": "0.6.2",
    "blas.provider": "mkl",
    "build.flags.USE_CUDA": False,
    "build.flags.USE_NCCL": False,
    "build.flags.USE_GLOO": True,
    "build.flags.CAFFE2_STATIC_LINK_CUDA": False,
    "build.flags.TRACING_BASED": True,
    "wheel.version": "2.6.0",
    "wheel.local": "cu124",
}


def kept(wish: Wish, **lines: Any) -> dict[str, Any]:
    """What is left of the lines, by key."""
    rows = tuple(LikeLine(key=key, value=value) for key, value in (LINES | lines).items())
    return {row.key: row.value for row in fitting_rows(LikeParts(lines=rows, comments=()), solve(wish))}


def test_what_goes_with_the_choices_is_kept() -> None:
    """The wheel's own words, where they are the ones that were chosen."""
    found = kept(WISH)

    assert {"cuda.version", "cuda.from", "cudnn.version", "cusparselt.version", "wheel.local"} <= set(found)
    assert found["build.flags.USE_GLOO"] is True


def test_switches_that_a_table_decides_are_left_to_it() -> None:
    """A wheel for the CPU says that CUDA is off; with a GPU added it is on."""
    found = kept(WISH)

    assert "build.flags.USE_CUDA" not in found
    assert "build.flags.USE_NCCL" not in found
    assert kept(Wish(torch="2.6.0"))["build.flags.USE_CUDA"] is False


def test_another_toolkit_has_other_libraries() -> None:
    """What was built for the one does not go with the other."""
    found = kept(WISH.model_copy(update={"cuda": "12.6.3", "cudnn": "", "nccl": ""}))

    assert not [key for key in found if key.startswith(("cuda.", "cudnn.", "cusparselt."))]
    assert "wheel.local" not in found
    assert found["wheel.version"] == "2.6.0"


def test_a_library_of_another_release_comes_from_elsewhere() -> None:
    """Its line says where the wheel's own comes from, which may not have the other."""
    found = kept(WISH.model_copy(update={"cudnn": "9.5.1.17"}))

    assert not [key for key in found if key.startswith("cudnn.")]
    assert "cuda.version" in found


def test_a_switch_with_another_name_is_a_definition() -> None:
    """Only USE_ and BUILD_ are flags of a recipe; one that is off needs no line."""
    found = kept(WISH)

    assert found["build.cmake.TRACING_BASED"] is True
    assert not [key for key in found if "CAFFE2_STATIC" in key]
