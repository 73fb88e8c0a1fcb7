"""Tables agree with one another; a row that does not is named, with what it is held against."""

from __future__ import annotations

import pytest

from torchbuild.knowledge.fact import using
from torchbuild.knowledge.invariants import broken_by, broken_invariants
from torchbuild.knowledge.overlay import read_overlay

SOURCED = 'source = "a test"\nchecked = "unconfirmed"\n'
GPU = (
    '[[product]]\nname = "{}"\nchips = ["X"]\ncapabilities = [{}]\nline = "geforce"\ndriver = "{}"\n'
    + SOURCED
)
FAMILY = '[[family]]\nsm = 130\ntitle = "T"\nchips = ["X"]\nmodules = "open"\n'
BUILD = (
    '[[build]]\ntorch = "{}"\nmachine = "x86_64"\ncuda = "{}"\nis_stable = true\narchs = ["{}"]\ncudnn = "{}"\n'
    'nccl = ""\ncusparselt = ""\nnvshmem = ""\nglibc = ""\n' + SOURCED
)
RELEASE = '[[release]]\nversion = "{}"\ndriver = ""\nnative = "{}"\nlacks = "a test"\n' + SOURCED


def test_our_own_tables_agree() -> None:
    """Drivers only rise, every chip has a family, every release its compilers, what is published can be."""
    assert broken_invariants() == ()


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("gpus", GPU.format("New", 130, ""), "gpus.product New: 130 is no family"),
        ("gpus", GPU.format("Old", 61, "600.1"), "gpus.product Old: driver 600.1, and family 61 ends at 580"),
        (
            "gpus",
            GPU.format("Early", 120, "470.1"),
            "gpus.product Early: driver 470.1, and family 120 begins with",
        ),
        (
            "gpu_families",
            FAMILY + 'driver = "600.1"\nlast_branch = 580\n' + SOURCED,
            "gpu_families.family 130: first",
        ),
        (
            "gpu_families",
            FAMILY + 'driver = "600.1"\nopen_driver = "610.1"\n' + SOURCED,
            "gpu_families.family 130: open modules from 610.1, and it takes open",
        ),
        (
            "gpu_families",
            FAMILY.replace('"open"', '"either"') + 'driver = "600.1"\nopen_driver = "600.1"\n' + SOURCED,
            "gpu_families.family 130: open modules from 600.1, and first driver 600.1",
        ),
        (
            "gpus",
            f'[[machine]]\nmachine = "aarch64"\nproducts = ["GB10", "GB11"]\n{SOURCED}',
            "gpus.machine aarch64: gpus.product has no GB11",
        ),
        ("cuda", RELEASE.format("12.99.0", "1.0"), "cuda.release 12.99.0: runs on 1.0, and 12.9"),
        ("cuda", RELEASE.format("99.0.0", ""), "cuda.release 99.0.0: no row of host_compilers.nvcc"),
        ("cuda", RELEASE.format("10.2.89", ""), "cuda.release 10.2.89: no row of host_compilers.nvcc"),
        (
            "cuda",
            f'[[floor]]\ncuda = ">=12,<13"\ndriver = "999"\n{SOURCED}',
            "cuda.floor >=12,<13: 999, and 12.1.0",
        ),
        (
            "cuda",
            f'[[floor]]\ncuda = ">=13,<14"\ndriver = "500"\n{SOURCED}',
            "cuda.floor >=13,<14: 500, and >=12,<13",
        ),
        (
            "forward_compat",
            f'[[package]]\ncuda = "12.99"\nbranches = [535]\n{SOURCED}',
            "forward_compat.package 12.99: CUDA 12.99 is no release",
        ),
        (
            "torch_lines",
            '[[line]]\ntorch = "==2.98.*"\nminor = "2.98"\nreleases = ["2.99.0"]\ncuda = ""\nexercised = ""\n'
            'era = "setup-py"\n' + SOURCED,
            "torch_lines.line 2.98: 2.99.0 is not in ==2.98.*",
        ),
        (
            "official_builds",
            BUILD.format("9.9", "12.4", "9.0", ""),
            "official_builds.build 9.9 / x86_64 / 12.4: torch_lines",
        ),
        (
            "official_builds",
            BUILD.format("2.6", "10.2", "9.0", ""),
            "10.2: torch_lines says that the tree takes",
        ),
        (
            "official_builds",
            BUILD.format("2.6", "12.4", "12.0", ""),
            "12.4: 12.0, which CUDA 12.4 does not compile for",
        ),
        (
            "official_builds",
            BUILD.format("2.6", "12.4", "9.0", "7.0"),
            "12.4: cudnn 7.0, and library_floors asks",
        ),
    ],
)
def test_a_row_that_contradicts_others_is_named(file: str, text: str, told: str) -> None:
    """The row at fault first, as the record of an overlay names it, and what it is held against."""
    laid = read_overlay({file: text})

    with using(laid):
        broken = broken_by(laid)

    assert any(told in line for line in broken)


def test_what_ours_lack_without_a_row_that_was_taken_away_is_not_told() -> None:
    """Who never uses a release may take it away, although other tables name it."""
    rows = "".join(f'[[release]]\nversion = "12.4.{patch}"\nremove = true\n{SOURCED}' for patch in (0, 1))
    laid = read_overlay({"cuda": rows})

    with using(laid):
        assert broken_invariants()
        assert broken_by(laid) == ()
