"""What a tree can say of architectures, and asks of a toolkit."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.errors import ConflictError
from torchbuild.toolchains.torch_tree import (
    FILES,
    SELECT,
    TreeAsks,
    archs_sayable,
    read_tree,
    refuse_archs,
    toolkit_has,
)

GRAMMAR = r"""
if(NOT CUDA_VERSION VERSION_LESS "12.0")
  list(APPEND CUDA_COMMON_GPU_ARCHITECTURES {table})
endif()
function(CUDA_SELECT_NVCC_ARCH_FLAGS out_variable)
    # if(arch_name MATCHES "^([0-9].*)$")
    if(arch_name MATCHES "(.*)\\+PTX$")
      set(add_ptx TRUE)
    endif()
    if(arch_name MATCHES "{item}")
      set(arch_bin ${{CMAKE_MATCH_1}})
    elseif(${{arch_name}} STREQUAL "Maxwell")
        set(arch_bin 5.0 5.2)
    endif()
  string(REGEX MATCHALL "{binary}" cuda_arch_bin "${{cuda_arch_bin}}")
  string(REGEX MATCHALL "{ptx}"   cuda_arch_ptx "${{cuda_arch_ptx}}")
endfunction()
"""
"""The lines that count, as they stand in the releases named below."""


def tree(item: str, suffix: str, table: str, **more: str) -> TreeAsks:
    """A tree with this grammar."""
    text = GRAMMAR.format(item=item, binary="[0-9()]+" + suffix, ptx="[0-9]+" + suffix, table=table)
    return read_tree({SELECT: text, **more})


TORCH_1_13 = tree(r"^([0-9]\\.[0-9](\\([0-9]\\.[0-9]\\))?)$", "", '"8.0" "8.6"')
TORCH_2_6 = tree(r"^([0-9]+\\.[0-9]a?(\\([0-9]+\\.[0-9]\\))?)$", "a?", '"9.0" "9.0a" "10.0"')
TORCH_2_13 = tree(
    r"^([0-9]+\\.[0-9][af]?(\\([0-9]+\\.[0-9]\\))?)$", "[af]?", '"8.6+PTX" "9.0" "9.0a" "10.0" "12.0"'
)


@pytest.mark.parametrize(
    ("asks", "arch", "outcome"),
    [
        (TORCH_1_13, "8.6", "passed"),
        (TORCH_1_13, "8.6+PTX", "passed"),
        (TORCH_1_13, "10.0", "failed"),
        (TORCH_1_13, "12.0+PTX", "failed"),
        (TORCH_1_13, "9.0a", "failed"),
        (TORCH_1_13, "9.0", "warned"),
        (TORCH_2_6, "5.2", "passed"),
        (TORCH_2_6, "9.0a", "passed"),
        (TORCH_2_6, "10.0+PTX", "passed"),
        (TORCH_2_6, "12.0", "warned"),
        (TORCH_2_6, "12.0f", "failed"),
        (TORCH_2_13, "12.0", "passed"),
        (TORCH_2_13, "12.0f", "warned"),
        (TORCH_2_13, "8.6", "passed"),
    ],
)
def test_a_tree_says_what_its_grammar_can(asks: TreeAsks, arch: str, outcome: str) -> None:
    """1.13 knows one digit before the dot and no suffix, 2.6 no family; what is not in the table is only suspicious."""
    (finding,) = archs_sayable(asks, (arch,))

    assert finding.outcome == outcome, finding


def test_a_suffix_that_gets_lost_is_no_success() -> None:
    """A grammar may take an item and drop half of it later: the kernels would be other ones."""
    asks = tree(r"^([0-9]+\\.[0-9][af]?)$", "a?", '"12.0"')

    (finding,) = archs_sayable(asks, ("12.0f+PTX",))

    assert finding.outcome == "failed"
    assert (finding.seen, finding.wanted) == ("sm_120, compute_120", "sm_120f, compute_120f")


def test_what_cannot_be_said_is_refused_at_lock_time() -> None:
    """All of them at once, with the tree's own words."""
    with pytest.raises(ConflictError) as caught:
        refuse_archs(TORCH_1_13, ("8.6", "9.0a", "12.0+PTX"), "1.13.1")

    assert caught.value.reference == "torch-architecture-unknown"
    assert caught.value.what == "torch 1.13.1 cannot be told to build for 9.0a, 12.0"
    assert len(caught.value.why) == 2
    assert [item.outcome for item in refuse_archs(TORCH_2_6, ("7.5", "12.0"), "2.6.0")] == [
        "warned",
        "warned",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "function(CUDA_SELECT_NVCC_ARCH_FLAGS)",
        GRAMMAR.format(item="^([0-9]((((", binary="[0-9", ptx="[0-9]+", table=""),
        GRAMMAR.format(item="^([0-9]" + "x" * 500 + "$", binary="[0-9]+", ptx="[0-9]+", table=""),
        "\x00" * 100,
    ],
    ids=["nothing", "other", "no pattern", "too long", "no text"],
)
def test_a_grammar_that_is_not_understood_is_said(text: str) -> None:
    """Not run is never passed, and never a crash."""
    (finding,) = archs_sayable(read_tree({SELECT: text}), ("9.0",))

    assert finding.outcome == "not run"
    assert "unknown way" in finding.what


def test_the_old_tools_extension_is_looked_for_where_the_tree_links_it() -> None:
    """Newer toolkits have none; newer trees do not ask."""
    links = {"cmake/public/cuda.cmake": "set(x CUDA::nvToolsExt)\n"}
    moved = {
        "cmake/public/cuda.cmake": "set(x CUDA::nvToolsExt)\nadd_library(torch::nvtx3 INTERFACE IMPORTED)\n"
    }
    old, new = read_tree(links), read_tree(moved)
    without = {"libraries": {"nvToolsExt": "", "thrust": "/p/include"}}
    having = {"libraries": {"nvToolsExt": "/p/lib64/libnvToolsExt.so", "thrust": "/p/include"}}

    assert [item.outcome for item in toolkit_has(old, without)] == ["failed", "passed"]
    assert [item.outcome for item in toolkit_has(old, having)] == ["passed", "passed"]
    assert [item.reference for item in toolkit_has(new, without)] == ["torch-thrust"]
    assert not read_tree({"cmake/public/cuda.cmake": "# CUDA::nvToolsExt\n"}).links_tools_ext


@pytest.mark.parametrize(
    ("thrust", "knows", "outcome"),
    [
        ("/p/include", False, "passed"),
        ("/p/include/cccl", False, "warned"),
        ("/p/include/cccl", True, "passed"),
        ("", True, "failed"),
    ],
)
def test_thrust_that_moved_is_suspicious(thrust: str, knows: bool, outcome: str) -> None:
    """The compiler of the toolkit finds it by itself, a host compiler does not."""
    (finding,) = toolkit_has(TreeAsks(knows_cccl=knows), {"libraries": {"thrust": thrust}})

    assert finding.outcome == outcome


def test_what_is_read_of_a_tree_is_named() -> None:
    """The lock needs these files alone."""
    assert SELECT in FILES
    assert all(not Path(name).is_absolute() for name in FILES)
