"""Host compilers, by what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.host_compilers import (
    Names,
    compiler_blanks,
    compiler_told,
    compilers_of,
    list_of_builds,
    look_at_compiler,
)
from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_programs import Found, Programs

FSF = "Copyright (C) 2022 Free Software Foundation, Inc.\nThis is free software\n"


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n{FSF}", ("gcc", "12.2.0")),
        (f"g++-11 (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0\n{FSF}", ("gcc", "11.4.0")),
        (f"gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)\n{FSF}", ("gcc", "8.5.0")),
        (f"gcc (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)\n{FSF}", ("gcc", "4.8.5")),
        (f"g++ (SUSE Linux) 13.2.1 20230912 [revision b96e66fd4ef3]\n{FSF}", ("gcc", "13.2.1")),
        (f"x86_64-conda-linux-gnu-gcc (conda-forge gcc 12.3.0-3) 12.3.0\n{FSF}", ("gcc", "12.3.0")),
        (f"gcc (Gentoo 13.3.1_p20240614 p17) 13.3.1 20240614\n{FSF}", ("gcc", "13.3.1")),
        (f"g++ (crosstool-NG (1.26)) 14.1.0\n{FSF}", ("gcc", "14.1.0")),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", ("clang", "14.0.6")),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)\n", ("clang", "18.1.3")),
        ("clang version 19.1.0 (https://example.org 1234)\n", ("clang", "19.1.0")),
        ("AMD clang version 17.0.0 (roc-6.1.0)\n", ("clang", "17.0.0")),
        ("gcc (something) 12.2.0\n", ("", "")),
        ("icpc (ICC) 2021.10.0 20230609\n", ("", "")),
        ("", ("", "")),
    ],
    ids=[
        *("debian", "ubuntu", "red hat", "centos 7", "suse", "conda", "gentoo", "crosstool"),
        *("clang debian", "clang ubuntu", "clang plain", "clang amd", "half", "another", "none"),
    ],
)
def test_kind_and_version_are_read_from_the_first_line(text: str, told: tuple[str, str]) -> None:
    """A distribution's own number in brackets is not the compiler's."""
    assert compiler_told(text) == told


def test_names_of_one_file_are_asked_once(tmp_path: Path, glances: Glances) -> None:
    """Each name is told; a recipe may use any of them."""
    real = tmp_path / "g++-12"
    real.write_text(
        f"#!/bin/sh\necho run >> {tmp_path}/runs\necho 'g++ (Debian 12.2.0-14) 12.2.0'\necho '{FSF}'\n"
    )
    real.chmod(0o755)
    (tmp_path / "g++").symlink_to(real)
    found = [Found(name, f"{tmp_path}/{name}", str(real)) for name in ("g++", "g++-12")]
    (group,) = compilers_of([], Programs(found))
    seen = look_at_compiler(group, {"PATH": "/usr/bin:/bin"}, glances)

    assert [(one.name, one.kind, one.version, one.real) for one in seen] == [
        ("g++", "gcc", "12.2.0", str(real)),
        ("g++-12", "gcc", "12.2.0", str(real)),
    ]
    assert (tmp_path / "runs").read_text() == "run\n"


def test_names_of_a_cache_are_asked_each() -> None:
    """What a cache starts depends on the name under which it was called."""
    found = [Found(name, f"/usr/lib/ccache/{name}", "/usr/bin/ccache") for name in ("gcc", "g++")]

    assert len(compilers_of([], Programs(found))) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!/bin/sh\nexit 1\n", "exit code 1"),
        ("#!/bin/sh\necho hello\n", "a script that tells no version: 'hello'"),
    ],
    ids=["fails", "another"],
)
def test_what_tells_no_version_is_told(text: str, why: str, tmp_path: Path, glances: Glances) -> None:
    """A broken one stays in the list, with its reason."""
    path = tmp_path / "gcc"
    path.write_text(text)
    path.chmod(0o755)
    (seen,) = look_at_compiler(Names((Found("gcc", str(path), str(path)),), is_of_builds=True), {}, glances)

    assert (seen.kind, seen.version, seen.why) == ("", "", why)


def test_one_that_was_not_heard_of_is_listed() -> None:
    """With its name and its path."""
    (blank,) = compiler_blanks(Names((Found("gcc", "/bin/gcc", "/bin/gcc-12"),), is_of_builds=False))

    assert (blank.name, blank.path, blank.why) == ("gcc", "/bin/gcc", "no answer")
    assert not blank.is_of_builds


def made(path: Path) -> Path:
    """A program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_builds_look_in_the_system_s_folders_whatever_path_says(tmp_path: Path, glances: Glances) -> None:
    """And in toolsets, which are in nobody's PATH; what PATH alone leads to is not a build's."""
    for name in (
        "usr/bin/g++",
        "usr/bin/cuda-g++",
        "opt/rh/gcc-toolset-13/root/usr/bin/g++",
        "usr/bin/other",
    ):
        made(tmp_path / name)
    found = list_of_builds(HostFiles(tmp_path), (), glances)
    by_hand = Found("g++-14", "/home/me/bin/g++-14", "/home/me/bin/g++-14")
    groups = compilers_of(found, Programs([*found, by_hand]))

    assert [(str(group).removeprefix(str(tmp_path)), group.is_of_builds) for group in groups] == [
        ("/usr/bin/g++", True),
        ("/usr/bin/cuda-g++", True),
        ("/opt/rh/gcc-toolset-13/root/usr/bin/g++", True),
        ("/home/me/bin/g++-14", False),
    ]


def test_the_recipe_s_compilers_are_found_by_any_name(tmp_path: Path, glances: Glances) -> None:
    """A full path, a name that no pattern knows; what is not there is not found."""
    made(tmp_path / "usr/bin/x86_64-linux-gnu-g++-12")
    own = made(tmp_path / "mine/cxx")
    named = (str(own), "x86_64-linux-gnu-g++-12", f"{tmp_path}/none/g++", "gcc-99")

    found = list_of_builds(HostFiles(tmp_path), named, glances)

    assert [one.name for one in found] == ["x86_64-linux-gnu-g++-12", "cxx"]


def test_a_full_path_to_a_file_that_is_also_elsewhere_is_told(tmp_path: Path, glances: Glances) -> None:
    """A link of the user's own to the system's compiler: the recipe names the link."""
    real = made(tmp_path / "usr/bin/g++-12")
    (tmp_path / "g++-12").symlink_to(real)

    groups = compilers_of(list_of_builds(HostFiles(tmp_path), (f"{tmp_path}/g++-12",), glances), Programs([]))

    assert [[found.path for found in group.found] for group in groups] == [[str(real), f"{tmp_path}/g++-12"]]
