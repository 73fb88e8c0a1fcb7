"""A build tree says what it was made with; with anything else nobody goes on in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from torchbuild.shim.fingerprint import NAME, compare

ASKED = {"GPU architectures": "8.0", "variable CFLAGS": "-O2"}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """An empty build tree."""
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A program that makes objects."""
    path = tmp_path / "cc1plus"
    path.write_bytes(b"first")
    return path


def made(build: Path, *names: str) -> None:
    """Ninja notes that they were made."""
    rows = "".join(f"0\t1\t2\t{name}\tabc\n" for name in names)
    (build / ".ninja_log").write_text("# ninja log v7\n" + rows, encoding="utf-8")


def test_it_is_written_before_anything_is_made(build: Path, compiler: Path) -> None:
    """Killed right after it, the tree is gone on with: it holds nothing of another's."""
    assert compare(str(build), ASKED, [str(compiler), "/nonexistent"]) == []
    kept = json.loads((build / NAME).read_text(encoding="utf-8"))

    assert kept["asked"] == ASKED
    assert list(kept["tools"]) == [str(compiler)]
    assert compare(str(build), ASKED, [str(compiler)]) == []


def test_a_compiler_that_was_replaced_in_place_is_named(build: Path, compiler: Path) -> None:
    """The same path, other bytes; the fingerprint stays as it was until the tree is gone."""
    compare(str(build), ASKED, [str(compiler)])
    compiler.write_bytes(b"other")

    for _ in range(2):
        (finding,) = compare(str(build), ASKED, [str(compiler)])
        assert (finding["reference"], finding["what"]) == ("tree-fingerprint", str(compiler))
        assert finding["seen"].startswith("sha256 ")
        assert finding["seen"] != finding["wanted"]


def test_a_compiler_that_is_gone_or_new_is_named(build: Path, compiler: Path, tmp_path: Path) -> None:
    """Another set of tools is another toolchain."""
    compare(str(build), ASKED, [str(compiler)])
    compiler.rename(tmp_path / "ptxas")

    told = compare(str(build), ASKED, [str(compiler), str(tmp_path / "ptxas")])

    assert [(item["what"], item["seen"] == "nothing") for item in told] == [
        (str(compiler), True),
        (str(tmp_path / "ptxas"), False),
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({**ASKED, "GPU architectures": "8.0 9.0"}, ("GPU architectures", "8.0 9.0", "8.0")),
        ({"GPU architectures": "8.0"}, ("variable CFLAGS", "nothing", "-O2")),
    ],
)
def test_what_is_asked_otherwise_is_named(
    build: Path, asked: dict[str, str], told: tuple[str, str, str]
) -> None:
    """A list of architectures, a flag: objects of the old one are not told of as the new one's."""
    compare(str(build), ASKED, [])

    (finding,) = compare(str(build), asked, [])

    assert (finding["what"], finding["seen"], finding["wanted"]) == told


def test_the_same_bytes_in_another_file_are_the_same(build: Path, compiler: Path, tmp_path: Path) -> None:
    """A package that was installed again, a container's other inode: nothing is compiled anew."""
    compare(str(build), ASKED, [str(compiler)])
    shutil.copy(compiler, tmp_path / "copy")
    (tmp_path / "copy").replace(compiler)

    assert compare(str(build), ASKED, [str(compiler)]) == []
    kept = json.loads((build / NAME).read_text(encoding="utf-8"))["tools"][str(compiler)]
    assert kept[2] == compiler.stat().st_ino


def test_what_is_unchanged_is_not_read_again(build: Path, compiler: Path) -> None:
    """A look at size, time and inode is enough: a hundred megabytes of compilers cost nothing."""
    compare(str(build), ASKED, [str(compiler)])
    before = (build / NAME).stat().st_ino
    compiler.chmod(0)

    assert compare(str(build), ASKED, [str(compiler)]) == []
    assert (build / NAME).stat().st_ino == before


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"schema": 2}', '{"schema": 1, "asked": 1, "tools": {}}']
)
def test_objects_of_which_nothing_is_known_are_refused(build: Path, text: str | None) -> None:
    """No fingerprint, or one that nobody can read, beside what was made."""
    made(build, "a.o")
    if text is not None:
        (build / NAME).write_text(text, encoding="utf-8")

    (finding,) = compare(str(build), ASKED, [])

    assert finding["what"] == "the build tree does not say what it was made with"


def test_cmakes_own_rules_are_no_objects(build: Path) -> None:
    """Ninja notes that it had CMake write its rules; with that alone the tree begins."""
    made(build, "build.ninja")

    assert compare(str(build), ASKED, []) == []
    assert (build / NAME).exists()
