"""An interpreter, read from its archive."""

from __future__ import annotations

import pytest

from torchbuild.errors import FetchError
from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.toolchains.python_standalone import build_time_vars, is_asked, locked_python

PIECE = LockedPiece(artifact=Artifact(locator="x:20250115/cpython.tar.gz", sha256="ab" * 32), strip=1)
TABLE = (
    b"# x\nbuild_time_vars = {'VERSION': '3.13', 'ABIFLAGS': '', 'SOABI': 'cpython-313-x86_64-linux-gnu'}\n"
)
FREE = TABLE.replace(b"'ABIFLAGS': ''", b"'ABIFLAGS': 't'").replace(b"cpython-313-", b"cpython-313t-")
LEVEL = b'/* x */\n#define PY_VERSION              "3.13.1"\n'
DATA, HEAD = "lib/python3.13/_sysconfigdata__linux_x86_64-linux-gnu.py", "include/python3.13/patchlevel.h"
FILES = {DATA: TABLE, HEAD: LEVEL}


def part(version: str = "3.13.1") -> LockedPart:
    """As uv's provider makes it."""
    prefix = "/torchbuild/parts/python"
    return LockedPart(name="python", provider="uv", version=version, prefix=prefix, pieces=(PIECE,))


@pytest.mark.parametrize(
    ("table", "name", "executable", "include"),
    [
        (TABLE, "bin/python3.13", "bin/python3.13", "python3.13"),
        (FREE, "bin/python3.13t", "bin/python3.13t", "python3.13t"),
        (FREE, "bin/python3.13", "bin/python3.13", "python3.13t"),
    ],
)
def test_an_interpreter_is_known_before_it_is_unpacked(
    table: bytes, name: str, executable: str, include: str
) -> None:
    """Its path, ABI and headers are read out of the archive; of its program only the name."""
    found = locked_python(part(), FILES | {DATA: table}, ["README", name])

    assert found.executable == f"/torchbuild/parts/python/{executable}"
    assert found.include == f"/torchbuild/parts/python/include/{include}"
    assert (found.version, found.tag) == ("3.13.1", "cp313")
    assert found.soabi in table.decode()


def test_what_is_no_release_yet_is_called_as_it_calls_itself() -> None:
    """sys.version_info has three numbers of 3.13.1rc2."""
    files = FILES | {HEAD: LEVEL.replace(b"3.13.1", b"3.13.1rc2+")}

    assert locked_python(part("3.13.1rc2"), files, ["bin/python3.13"]).version == "3.13.1"


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({HEAD: LEVEL.replace(b"3.13.1", b"3.13.2")}, "python-archive-other-version"),
        ({HEAD: b""}, "python-archive-unreadable"),
        ({HEAD: b"\xff\xfe"}, "python-archive-unreadable"),
        ({DATA: b"\xff"}, "python-archive-unreadable"),
        ({DATA: b"build_time_vars = {}"}, "python-archive-unreadable"),
        ({DATA: b"build_time_vars = exit()"}, "python-archive-unreadable"),
        ({"lib/python3.12/_sysconfigdata_x.py": TABLE}, "python-archive-unreadable"),
    ],
    ids=["version", "no version", "no text", "no table", "empty", "code", "two"],
)
def test_an_archive_that_is_no_interpreter_is_refused(changed: dict[str, bytes], reference: str) -> None:
    """Before anything of it is unpacked, with what was seen."""
    with pytest.raises(FetchError) as caught:
        locked_python(part(), FILES | changed, ["bin/python3.13"])

    assert caught.value.reference == reference
    assert caught.value.why[0].startswith("seen ")


def test_an_archive_without_a_program_or_files_is_refused() -> None:
    """Headers alone are no interpreter."""
    for files, names in ((FILES, ["bin/python3.12"]), ({}, ["bin/python3.13"])):
        with pytest.raises(FetchError):
            locked_python(part(), files, names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "build_time_vars = " + "[" * 5000,
        "build_time_vars = {" + "'a':{" * 900,
        "build_time_vars = {[]: 1}",
        "build_time_vars = {}\nbuild_time_vars = {}",
        "build_time_vars = [1]",
        "x" * (5 << 20),
        "\0",
    ],
    ids=["empty", "deep", "deep tables", "no key", "two", "list", "long", "nul"],
)
def test_a_strangers_table_never_crashes(text: str) -> None:
    """It is no table of values: that is all there is to say."""
    with pytest.raises(ValueError, match=r"table|longer"):
        build_time_vars(text)


def test_only_what_is_needed_is_read() -> None:
    """Of thousands of files, two."""
    assert is_asked(DATA)
    assert is_asked("include/python3.13t/patchlevel.h")
    assert not is_asked("lib/python3.13/os.py")
    assert not is_asked("lib/python3.13/x/_sysconfigdata_x.py")
