"""What --despite takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.despite import OPEN_NETWORK, Despite
from torchbuild.cli.main import run_main
from torchbuild.errors import UsageError


@pytest.mark.parametrize("name", [OPEN_NETWORK, "disk-space", "toolkit-newer-than-driver"])
def test_what_can_be_overridden_is_taken(name: str) -> None:
    """By its name."""
    assert Despite().convert(name, None, None) == name


@pytest.mark.parametrize(
    ("name", "near"),
    [("disk-spac", "disk-space"), ("open-netwrk", "open-network"), ("xyz", "torchbuild doctor")],
)
def test_a_mistyped_name_is_told_with_the_nearest(name: str, near: str) -> None:
    """A typing error costs no build."""
    with pytest.raises(UsageError) as caught:
        Despite().convert(name, None, None)

    assert caught.value.reference == "despite-unknown"
    assert near in caught.value.fix


def test_what_is_refused_whatever_one_says_is_not_taken(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No --despite makes a provider have what it has not, or a lock fresh."""
    for name in ("nccl-tarball-unknown", "lock-stale", "library-cuda"):
        assert run_main(["build", str(recipe), "--despite", name]) == 2
        assert "error[despite-unknown]" in capsys.readouterr().err
