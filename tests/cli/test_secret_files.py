"""Files that only we may read, while a build runs."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

import pytest

from torchbuild.cli.secret_files import secret_file
from torchbuild.errors import HostError


def test_it_is_there_for_the_build_alone(tmp_path: Path) -> None:
    """Nobody else may read it, and after the build it is gone, however it ends."""
    place = tmp_path / "secret"
    place.write_text("left by a run that was killed")

    with contextlib.suppress(KeyboardInterrupt), secret_file(place, "s3cret"):
        assert place.read_text() == "s3cret"
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        raise KeyboardInterrupt

    assert not place.exists()


def test_nothing_is_laid_where_there_is_no_secret(tmp_path: Path) -> None:
    """What a killed run left goes all the same."""
    place = tmp_path / "secret"
    place.write_text("old")

    with secret_file(place, ""):
        assert not place.exists()


def test_a_folder_that_is_gone_is_the_machines_fault(tmp_path: Path) -> None:
    """It is told as such."""
    with pytest.raises(HostError), secret_file(tmp_path / "no" / "secret", "s3cret"):
        raise AssertionError
