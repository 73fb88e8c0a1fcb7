"""What a file was when it was first seen here."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.first_seen import FirstSeen
from torchbuild.model.artifact import Artifact

SEEN = Artifact(locator="nvidia:compute/x.txz", sha256="ab" * 32, size=7)


def test_what_was_noted_is_known(tmp_path: Path) -> None:
    """By any later run with the same cache."""
    FirstSeen(tmp_path).note(SEEN)

    assert FirstSeen(tmp_path).get(SEEN.locator) == SEEN
    assert FirstSeen(tmp_path).get("nvidia:compute/y.txz") is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", '{"locator": "nvidia:compute/x.txz"}', SEEN.model_dump_json().replace("x.t", "y.t")],
)
def test_a_record_that_is_none_counts_as_lost(tmp_path: Path, text: str) -> None:
    """Half a record, or that of another file, is no record."""
    seen = FirstSeen(tmp_path)
    seen.note(SEEN)
    seen.place(SEEN.locator).write_text(text)

    assert seen.get(SEEN.locator) is None
