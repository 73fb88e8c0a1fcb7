"""Who provides a part that was chosen."""

from __future__ import annotations

import pytest

from torchbuild.advice.providers import blas_provider, library_provider, toolkit_provider
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import cuda_releases
from torchbuild.knowledge.cuda_facts import newest_of

WISH = Wish(torch="2.6")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("11.8.0", "redist"), ("12.6.3", "redist"), ("11.7.0", "runfile"), ("99.0.0", "redist")],
)
def test_a_toolkit_comes_from_where_it_was_seen(version: str, expected: str) -> None:
    """The publisher's archives before its wheels, those before its installer; unknown ones are asked for."""
    assert toolkit_provider(version, "x86_64").origin == expected


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_is_said_to_exist_does(machine: str) -> None:
    """No toolkit is taken from wheels or an installer that no table has."""
    for row in cuda_releases():
        origin = toolkit_provider(row.version, machine).origin
        if origin == "runfile":
            assert row.runfile(machine) is not None
        if origin == "wheels":
            wheels = newest_of(row.version)
            assert wheels is not None
            assert machine in wheels.machines


@pytest.mark.parametrize(
    ("name", "version", "cuda", "expected"),
    [
        ("cudnn", "9.1.0.70", "12.4.1", "wheels"),
        ("cudnn", "8.9.7", "12.4.1", "tarball"),
        ("nccl", "2.21.5", "12.4.1", "wheels"),
        ("nccl", "2.11.4", "11.4.4", "tarball"),
        ("cudnn", "99.0.0.1", "12.4.1", "wheels"),
        ("cudnn", "banana", "12.4.1", "wheels"),
    ],
)
def test_a_library_comes_from_the_index_where_it_is_there(
    name: str, version: str, cuda: str, expected: str
) -> None:
    """Else from the publisher's archive where one was seen; else the index is asked, which says so."""
    assert library_provider(name, version, WISH, cuda).origin == expected


def test_blas_is_upstreams_where_it_exists() -> None:
    """MKL is for x86_64 alone; elsewhere the distribution's OpenBLAS."""
    assert blas_provider("x86_64")[0] == "mkl"
    assert blas_provider("aarch64")[0] == "openblas"
    assert blas_provider("aarch64")[1].origin == "system"
