"""Members of static libraries, as GNU ar and BSD's write them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from torchbuild.inspection.ar_members import ar_members
from torchbuild.inspection.bounded import BoundedFile, MalformedError

LONG = "a_name_that_is_longer_than_sixteen_bytes_and_holds_a.slash_less.o"


def members(path: Path) -> list[tuple[str, bytes]]:
    """Name and content of each."""
    with path.open("rb", buffering=0) as stream:
        file = BoundedFile(stream.fileno())
        return [(item.name, file.at(item.position, item.size)) for item in ar_members(file)]


def header(name: bytes, size: bytes | int) -> bytes:
    """A member's header."""
    text = size if isinstance(size, bytes) else str(size).encode()
    return name.ljust(16) + b"0           0     0     644     " + text.ljust(10) + b"`\n"


def test_gnu_ar_is_read(tmp_path: Path) -> None:
    """With its symbol table, its table of long names, odd sizes, and a name that occurs twice."""
    (tmp_path / "twice").mkdir()
    for name, content in (("odd.o", b"abc"), (LONG, b"long"), ("twice/odd.o", b"other")):
        (tmp_path / name).write_bytes(content)
    argv = ["ar", "qcs", "lib.a", "odd.o", LONG, "twice/odd.o"]
    subprocess.run(argv, check=True, cwd=tmp_path)

    assert members(tmp_path / "lib.a") == [("odd.o", b"abc"), (LONG, b"long"), ("odd.o", b"other")]


def test_the_symbol_table_is_no_member(tmp_path: Path) -> None:
    """Nobody put it there."""
    source = b"int f(void) { return 1; }"
    subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", tmp_path / "f.o"], input=source, check=True)
    subprocess.run(["ar", "rcs", "libf.a", "f.o"], check=True, cwd=tmp_path)

    assert [name for name, _ in members(tmp_path / "libf.a")] == ["f.o"]


def test_bsd_ar_is_read(tmp_path: Path) -> None:
    """It writes long names before the bytes."""
    path = tmp_path / "lib.a"
    path.write_bytes(b"!<arch>\n" + header(b"#1/20", 24) + b"name of a member.o".ljust(20, b"\0") + b"abcd")

    assert members(path) == [("name of a member.o", b"abcd")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (header(b"/7", 0), "of 0 bytes of names"),
        (header(b"//", 4) + b"a/\n\n" + header(b"/4", 0), "of 4 bytes of names"),
        (header(b"#1/9", 4) + b"abcd", "name of 9 bytes"),
        (header(b"a/", b"4x") + b"abcd", "'4x' bytes"),
        (header(b"a/", "\N{SUPERSCRIPT TWO}".encode("latin-1")), "bytes"),
        (header(b"a/", b"") + b"abcd", "'' bytes"),
        (header(b"a/", 5) + b"abcd", "ends at"),
        (header(b"a/", 9_999_999_999), "ends at"),
        (header(b"a/", 0)[:-3], "cut off"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    """Names, sizes, and what should follow."""
    path = tmp_path / "lib.a"
    path.write_bytes(b"!<arch>\n" + content)

    with pytest.raises(MalformedError, match=says):
        members(path)


def test_a_name_is_fit_to_be_shown(tmp_path: Path) -> None:
    """It may hold what moves a cursor."""
    path = tmp_path / "lib.a"
    path.write_bytes(b"!<arch>\n" + header(b"\x1b[2Ja\xff.o/", 0))

    assert members(path) == [("\\x1b[2Ja\\xff.o", b"")]
