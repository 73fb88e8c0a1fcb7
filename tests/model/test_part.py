"""Parts of a toolchain in a lock."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of

PIECE = LockedPiece(artifact=Artifact(locator="pypi:a/a-1.whl", sha256="0" * 64), only="nvidia/nccl")


def test_a_part_with_pieces_is_our_own() -> None:
    """What the build makes is apart from what it finds."""
    ours = LockedPart(
        name="nccl", provider="wheels", version="2.21.5", prefix=prefix_of("nccl"), pieces=(PIECE,)
    )

    assert ours.is_ours
    assert not LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr").is_ours


@pytest.mark.parametrize("prefix", ["usr", "", "/a\nb"])
def test_a_prefix_is_absolute(prefix: str) -> None:
    """A relative one would mean another place to each program."""
    with pytest.raises(ValidationError):
        LockedPart(name="cuda", provider="apt", version="12.4", prefix=prefix)


def test_a_piece_stays_inside_its_prefix() -> None:
    """Locks are written by others, too."""
    with pytest.raises(ValidationError):
        LockedPiece(artifact=PIECE.artifact, to="../elsewhere")
