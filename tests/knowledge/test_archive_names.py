"""What the name of an archive says."""

from __future__ import annotations

import pytest

from torchbuild.knowledge.archive_names import built_with
from torchbuild.knowledge.nccl_tarballs import nccl_tarballs


@pytest.mark.parametrize(
    ("file", "cuda", "version"),
    [
        ("nccl_2.18.3-1+cuda12.2_x86_64.txz", "12.2", "2.18.3"),
        ("cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz", "12", "8.9.7.29"),
        ("libcusparse_lt-linux-sbsa-0.8.0.4_cuda13-archive.tar.xz", "13", "0.8.0.4"),
        ("cudnn-11.2-linux-x64-v8.1.1.33.tgz", "11.2", "8.1.1.33"),
        ("magma-cuda124-2.6.1-1.tar.bz2", "12", ""),
        ("nvidia_nccl_cu12-2.21.5-py3-none-manylinux2014_x86_64.whl", "12", "2.21.5"),
    ],
)
def test_a_publisher_s_name_tells_both(file: str, cuda: str, version: str) -> None:
    """The CUDA that the library was built with, and its own release."""
    found = built_with(file)

    assert found is not None
    assert (found.cuda, found.version) == (cuda, version)


@pytest.mark.parametrize("file", ["", "nccl.tar.xz", "cuda_12.4.1_550.54.15_linux.run"])
def test_other_names_say_nothing(file: str) -> None:
    """Nothing is guessed."""
    assert built_with(file) is None


def test_every_known_archive_of_nccl_is_read() -> None:
    """The table of archives and the pattern agree."""
    for row in nccl_tarballs():
        found = built_with(row.path.rpartition("/")[2])

        assert found is not None
        assert (found.cuda, found.version) == (row.cuda, row.version)
