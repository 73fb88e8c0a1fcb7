"""A file that is read in pieces, and never over its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.inspection.bounded import BoundedFile, MalformedError

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of 10,240 bytes."""
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def file(path: Path) -> Iterator[BoundedFile]:
    """The same, open."""
    with path.open("rb", buffering=0) as stream:
        yield BoundedFile(stream.fileno())


def test_pieces_are_the_bytes_of_the_file(file: BoundedFile) -> None:
    """Forwards, backwards, across what was read before, and to the very end."""
    for position, size in ((0, 4), (2, 4), (510, 8), (100, 1000), (10_232, 8), (3, 0), (10_240, 0)):
        assert file.at(position, size) == CONTENT[position : position + size]


def test_what_lies_close_is_read_once(file: BoundedFile) -> None:
    """A header and what its fields name next to it cost one call."""
    file.at(0, 16)
    before = file.read_bytes
    file.at(16, 64)

    assert file.read_bytes == before < len(CONTENT)


@pytest.mark.parametrize(("position", "size"), [(10_239, 2), (-1, 4), (0, -1), (2**70, 1), (0, 2**40)])
def test_nothing_outside_the_file_is_read(file: BoundedFile, position: int, size: int) -> None:
    """Whatever a header says."""
    with pytest.raises(MalformedError):
        file.at(position, size)


def test_a_file_that_shrinks_is_an_error(file: BoundedFile, path: Path) -> None:
    """Mapped into memory, it would be the end of the process."""
    path.write_bytes(b"short")

    with pytest.raises(MalformedError, match="shorter"):
        file.at(5000, 100)


def test_headers_are_counted(file: BoundedFile) -> None:
    """No file keeps us for ever."""
    file.step(4_000_000)
    file.step(4_000_000)

    with pytest.raises(MalformedError, match="headers"):
        file.step()
