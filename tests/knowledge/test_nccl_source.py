"""What NCCL's makefile compiles besides the list that it is handed."""

from __future__ import annotations

import re

import pytest

from torchbuild.knowledge.nccl_source import own_lists


@pytest.mark.parametrize(
    ("cuda", "sass"), [("11.8.0", ()), ("12.4.1", ()), ("12.8.1", ("sm_100a",)), ("12.9.0", ("sm_100f",))]
)
def test_each_toolkit_has_one_row(cuda: str, sass: tuple[str, ...]) -> None:
    """Ranges do not overlap, and each row says where it is from."""
    (row,) = own_lists(cuda)

    assert row.sass == sass
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)
