"""What single edges take, as it is known."""

from __future__ import annotations

import re

from torchbuild.knowledge.edge_seconds import edge_seconds


def test_there_is_a_number_for_every_edge() -> None:
    """The last row fits all, each pattern can be read, and no time is nothing."""
    rows = edge_seconds()

    assert rows[-1].pattern == ""
    assert all(re.compile(row.pattern) for row in rows)
    assert all(row.seconds > 0 and 0 < row.hit <= row.seconds for row in rows)
