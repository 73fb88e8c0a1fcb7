"""Sizes as people write them."""

from __future__ import annotations

import pytest

from torchbuild.model.byte_size import bytes_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1048576", 1 << 20),
        ("512 B", 512),
        ("500 MB", 500_000_000),
        ("500MB", 500_000_000),
        ("20 GiB", 20 << 30),
        ("20Gi", 20 << 30),
        ("20G", 20_000_000_000),
        ("1.5 TiB", 3 << 39),
        ("4k", 4000),
        ("4KiB", 4096),
    ],
)
def test_a_size_is_a_number_of_bytes(text: str, size: int) -> None:
    """Powers of 1024 where the unit says so, else powers of 1000: as everybody writes them."""
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1", "1 PB", "1e9", "1,5 GB", "20 GiBs", " 1", "1\n", "0x10", "\u0661"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    """Nothing is guessed about a limit at which files are removed."""
    with pytest.raises(ValueError, match="is not a size"):
        bytes_of(text)
