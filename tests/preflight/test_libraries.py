"""The third classic trap: an NCCL that does not match the CUDA, or is too old, or has no code for the chip."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CUDA, case, outcome
from torchbuild.preflight.libraries import (
    for_the_chips,
    for_the_cuda,
    for_the_tree,
    of_this_machine,
    several_wheels,
)

CU118 = CUDA.replace("12.4.1", "11.8.0")
TARBALL = '[nccl]\nfrom = "tarball"\nversion = "{version}"\narchive = "https://x.example/{file}"\n'


@pytest.mark.parametrize(
    ("text", "version", "file", "wanted"),
    [
        (CU118, "2.18.3", "nccl_2.18.3-1+cuda12.2_x86_64.txz", "failed"),
        (CUDA, "2.18.3", "nccl_2.18.3-1+cuda12.2_x86_64.txz", "passed"),
        (CUDA, "2.21.5", "nccl_2.18.3-1+cuda12.2_x86_64.txz", "failed"),
        (CUDA, "2.18.3", "mine.tar.xz", ""),
    ],
    ids=["other CUDA", "same CUDA", "other release", "a name that says nothing"],
)
def test_an_archive_s_name_says_what_it_was_built_with(
    text: str, version: str, file: str, wanted: str
) -> None:
    """`+cuda12.2` beside CUDA 11.8 is told before a byte of it is fetched."""
    found = list(for_the_cuda(case(text + TARBALL.format(version=version, file=file))))

    assert "".join(item.outcome for item in found) == wanted
    assert all(item.reference == "library-for-other-cuda" for item in found)


def test_cudnn_says_it_in_its_archive_s_name_too() -> None:
    """One archive for each major release of CUDA."""
    archive = "https://x.example/cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz"
    text = CUDA + f'[cudnn]\nfrom = "tarball"\nversion = "8.9.7.29"\narchive = "{archive}"\n'

    assert outcome(for_the_cuda(case(text)), "library-for-other-cuda").outcome == "failed"


@pytest.mark.parametrize(
    ("requires", "wanted"),
    [
        ('["nvidia-nccl-cu12==2.21.5", "nvidia-nccl-cu13==2.27.7"]', "failed"),
        ('["nvidia-nccl-cu13==2.27.7"]', "failed"),
        ('["nvidia-nccl-cu12==2.21.5"]', ""),
    ],
)
def test_wheels_for_another_cuda_are_not_required(requires: str, wanted: str) -> None:
    """Two of one library lay their files over one another; one for another CUDA finds no runtime."""
    text = CUDA.replace('version = "2.6.0"\n', f'version = "2.6.0"\nrequires = {requires}\n')
    found = list(several_wheels(case(text)))

    assert "".join(item.outcome for item in found) == wanted


def test_a_library_below_the_tree_s_floor_fails() -> None:
    """Torch 2.6 does not compile with cuDNN 8.4: somebody read that in its tree."""
    text = CUDA + '[cudnn]\nversion = "8.4.0"\nfrom = "wheels"\n'

    item = outcome(for_the_tree(case(text)), "library-below-floor")

    assert (item.outcome, item.is_fatal) == ("failed", True)
    assert ">=8.5" in item.wanted


def test_a_library_without_code_for_the_oldest_chip_fails() -> None:
    """NCCL 2.28 for CUDA 12 holds nothing for sm_50; the list of its code is a second one."""
    text = CUDA.replace('"7.5"', '"5.0"') + '[nccl]\nversion = "2.28.3"\nfrom = "wheels"\n'

    item = outcome(for_the_chips(case(text)), "library-without-chip")

    assert (item.outcome, item.is_fatal) == ("failed", True)
    assert "sm_60" in item.wanted


def test_a_library_that_is_older_than_a_chip_is_told_as_well() -> None:
    """CuDNN 9.5 knows no Blackwell; where the facts said so already, it is told once."""
    text = CUDA.replace("12.4.1", "12.8.1").replace('"7.5"', '"12.0"')
    text += '[cudnn]\nversion = "9.5.1.17"\nfrom = "wheels"\n'

    item = outcome(for_the_chips(case(text)), "library-without-chip")

    assert item.outcome in ("failed", "warned")
    assert "sm_120" in item.what


SYSTEM = CUDA.replace('from = "redist"', 'from = "system"\npath = "/opt/cuda"') + (
    '[nccl]\nfrom = "system"\nversion = "2.18.3"\n'
)


def seen(cuda: str = "12.2", version: str = "2.18.3") -> dict[str, Any]:
    """What ``look_library.py`` prints of an NCCL."""
    return {
        "name": "nccl",
        "prefix": "/usr",
        "header": {"kind": "file", "path": "/usr/include/nccl.h", "version": version},
        "library": {
            "kind": "file", "path": "/usr/lib/libnccl.so", "real": "/usr/lib/libnccl.so.2", "called": version,
            "said": version, "cuda": cuda,
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("there", "reference"),
    [
        (seen(cuda="11.8"), "library-cuda"),
        (seen(version="2.6.4"), "library-version"),
        ({**seen(), "library": {"kind": "missing", "path": "/usr/lib/libnccl.so"}}, "library-file"),
    ],
    ids=["other CUDA", "other release", "not there"],
)
def test_the_machine_s_own_library_is_asked_itself(there: dict[str, Any], reference: str) -> None:
    """What the toolchain's proof would find after fetching is found before."""
    found = of_this_machine(case(SYSTEM, libraries={"nccl": there}))

    failed = [item for item in found if item.outcome == "failed"]
    assert reference in {item.reference for item in failed}
    assert all(item.is_fatal and item.fix for item in failed)


def test_a_matching_library_of_the_machine_passes() -> None:
    """The same release, the same CUDA."""
    found = list(of_this_machine(case(SYSTEM, libraries={"nccl": seen()})))

    assert not [item for item in found if item.outcome in ("failed", "warned")]


def test_a_library_of_an_image_is_not_looked_for_here() -> None:
    """The builder is another machine."""
    found = of_this_machine(case(SYSTEM + '[image]\nname = "b"\n', libraries={"nccl": seen("11.8")}))

    assert [item.outcome for item in found] == ["not run"]
