"""Which programs PATH leads to, and what they say when they are asked."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_programs import Found, Programs, ask, kind_of, list_programs, plain_environ


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


def program(path: Path, text: str = "#!/bin/sh\necho hello\n") -> Path:
    """Something that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_programs_stand_in_the_order_of_path(tmp_path: Path, glances: Glances) -> None:
    """The first one wins, as for a shell; names of no interest are not looked at."""
    for name in ("b/nvcc", "a/nvcc", "a/gcc", "a/other"):
        program(tmp_path / name)
    found = list_programs(f"{tmp_path}/b:{tmp_path}/a:{tmp_path}/b", "nvcc|gcc", glances)

    assert found.first("nvcc") == f"{tmp_path}/b/nvcc"
    assert [one.path for one in found.matching("nvcc")] == [f"{tmp_path}/b/nvcc", f"{tmp_path}/a/nvcc"]
    assert found.first("other") == ""


def test_directories_that_are_not_there_are_no_trouble(tmp_path: Path, glances: Glances) -> None:
    """Neither are files in PATH, relative entries, and what cannot be executed."""
    (tmp_path / "file").touch()
    program(tmp_path / "bin" / "gcc").chmod(0o644)
    (tmp_path / "bin" / "g++").mkdir()
    path = f"{tmp_path}/none:{tmp_path}/file::bin:~/bin:{tmp_path}/bin"

    assert list_programs(path, "gcc|g\\+\\+", glances).matching(".*") == ()
    assert glances.noted() == ()


def test_one_file_under_one_name_is_found_once() -> None:
    """/bin and /usr/bin are one directory on most machines."""
    there = Programs(
        [Found("gcc", "/usr/bin/gcc", "/usr/bin/gcc-12"), Found("gcc", "/bin/gcc", "/usr/bin/gcc-12")]
    )

    assert [one.path for one in there.matching("gcc")] == ["/usr/bin/gcc"]


def test_a_directory_that_cannot_be_read_is_told(tmp_path: Path, glances: Glances) -> None:
    """What is in it may be missing in the list."""
    (tmp_path / "loop").symlink_to("loop")

    assert list_programs(str(tmp_path / "loop"), "gcc", glances).matching(".*") == ()
    assert [item.what for item in glances.noted()] == [f"PATH directory {tmp_path}/loop"]


def test_kinds_are_told_by_the_first_bytes(tmp_path: Path) -> None:
    """A script or a cache under a compiler's name is not that compiler."""
    program(tmp_path / "ccache")
    (tmp_path / "nvcc").symlink_to("ccache")
    other = program(tmp_path / "text", "echo\n")

    assert [
        kind_of(str(path)) for path in ("/bin/ls", program(tmp_path / "s"), tmp_path / "nvcc", other)
    ] == [
        "program",
        "script",
        "cache",
        "other",
    ]


def test_an_answer_is_what_is_printed(tmp_path: Path, glances: Glances) -> None:
    """With stderr only where that is asked for."""
    both = str(program(tmp_path / "both", "#!/bin/sh\necho out; echo err >&2\n"))

    assert ask([both], {}, glances).text == "out\n"
    assert ask([both], {}, glances, with_stderr=True).text == "out\nerr\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!/bin/sh\necho 'no compiler here' >&2\nexit 3\n", "no compiler here"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/nowhere/python\n", "No such file or directory"),
        ("#!/bin/sh\nkill -SEGV $$\n", "exit code 139"),
    ],
    ids=["says", "silent", "no interpreter", "crash"],
)
def test_no_answer_has_its_reason(text: str, why: str, tmp_path: Path, glances: Glances) -> None:
    """The program's own word where it has one."""
    answer = ask([str(program(tmp_path / "it", text))], {}, glances)

    assert (answer.text, why in answer.why) == ("", True)


def ends(pid: int) -> bool:
    """Whether a process is gone, or goes at once: a signal that was sent may not have arrived yet."""
    try:
        number = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(number):
        return bool(select.select([number], [], [], 5)[0])


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    """Also one that will not hear of it; what it started goes with it."""
    hung = program(tmp_path / "it", f"#!/bin/sh\ntrap '' TERM\nsleep 60 & echo $! > {tmp_path}/pid\nwait\n")
    began = time.monotonic()
    with Glances(0.8) as glances:
        answer = ask([str(hung)], {"PATH": "/usr/bin:/bin"}, glances)

    assert answer.why.startswith("no answer after")
    assert time.monotonic() - began < 15
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, glances: Glances) -> None:
    """Memory does not run full of it."""
    began = time.monotonic()
    endless = program(tmp_path / "nvcc", "#!/bin/sh\nexec yes\n")

    assert "bytes of output" in ask([str(endless)], {"PATH": "/usr/bin:/bin"}, glances).why
    assert time.monotonic() - began < 20


def test_variables_that_change_an_answer_are_left_out() -> None:
    """Options for nvcc, preloads and paths of modules are another matter."""
    told = {"PATH": "/bin", "HOME": "/root", "NVCC_APPEND_FLAGS": "-x", "LD_PRELOAD": "x", "PYTHONPATH": "x"}

    assert plain_environ(told) == {"HOME": "/root", "PATH": "/bin", "LC_ALL": "C.UTF-8"}
