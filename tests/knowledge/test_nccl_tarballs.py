"""The archives of NCCL that are known."""

from __future__ import annotations

import re

from torchbuild.knowledge.nccl_tarballs import nccl_tarballs


def test_a_row_tells_what_it_is_by_its_name() -> None:
    """Version, CUDA and processor are read from the file's name, which is written once."""
    rows = {row.path: row for row in nccl_tarballs()}
    row = rows["v2.15.5/nccl_2.15.5-1+cuda11.8_x86_64.txz"]

    assert (row.version, row.cuda, row.machine) == ("2.15.5", "11.8", "x86_64")
    assert rows["v2.7/nccl_2.7.8-1+cuda11.1_arm64.txz"].machine == "aarch64"
    assert len(rows) == len(nccl_tarballs())


def test_every_row_says_where_it_is_from() -> None:
    """What nobody read is marked so, and no row holds a digest that nobody computed."""
    for row in nccl_tarballs():
        assert len(row.source) > 10
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)
        assert not hasattr(row, "sha256")
