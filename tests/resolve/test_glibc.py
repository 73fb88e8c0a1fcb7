"""Which C library the wheel's own requirements may need."""

from __future__ import annotations

import pytest

from torchbuild.resolve.glibc import run_time_glibc


@pytest.mark.parametrize(
    ("target", "builder", "glibc"),
    [
        (None, "2.41", "2.41"),
        ("2.28", "2.41", "2.28"),
        ("2.9", "2.41", "2.9"),
        ("2.41", "2.28", "2.28"),
        ("2.41", "2.41", "2.41"),
    ],
)
def test_the_older_c_library_counts(target: str | None, builder: str, glibc: str) -> None:
    """A requirement that the target cannot install is as useless as one that cannot be verified here."""
    assert run_time_glibc(target, builder) == glibc
