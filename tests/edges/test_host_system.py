"""What system this is, by the files of many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_system import git_version, glibc_version, newest_file, os_release, system_of

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n'
CENTOS = 'NAME="CentOS Linux"\nVERSION="7 (Core)"\nID="centos"\nID_LIKE="rhel fedora"\nVERSION_ID="7"\n'
ARCH = "NAME=\"Arch Linux\"\nPRETTY_NAME='Arch Linux'\nID=arch\nBUILD_ID=rolling\n"
ODD = '# a comment\nID=odd\nNAME="never closed\nnonsense\n=\nVERSION_ID=\n'
TEGRA = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8\n"


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


def laid(root: Path, **texts: str) -> HostFiles:
    """Files of a system; two underscores in a name are a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_DASH_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostFiles(root)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DEBIAN, ("Debian GNU/Linux 12 (bookworm)", "debian", "12")),
        (CENTOS, ("CentOS Linux", "centos", "7")),
        (ARCH, ("Arch Linux", "arch", "")),
        (ODD, ("never closed", "odd", "")),
        ("", ("", "", "")),
    ],
    ids=["debian", "centos", "arch", "odd", "none"],
)
def test_a_distribution_is_told_as_it_calls_itself(
    text: str, told: tuple[str, str, str], tmp_path: Path
) -> None:
    """Quotes of either kind, missing lines and nonsense included."""
    seen = system_of(laid(tmp_path, etc__os_DASH_release=text))

    assert (seen.system, seen.distribution, seen.release) == told


def test_the_second_place_counts_where_the_first_is_missing(tmp_path: Path) -> None:
    """Small images have the file below /usr alone."""
    files = laid(tmp_path, usr__lib__os_DASH_release=DEBIAN)

    assert system_of(files).distribution == "debian"


def test_a_jetson_is_told_with_its_release_and_its_board(tmp_path: Path) -> None:
    """The device tree ends its words with a zero byte."""
    files = laid(
        tmp_path,
        etc__nv_tegra_release=TEGRA,
        **{"proc__device_DASH_tree__model": "NVIDIA Jetson AGX Orin Developer Kit\0", ".dockerenv": ""},
    )
    seen = system_of(files)

    assert (seen.platform, seen.l4t) == ("jetson", "36.4.3")
    assert seen.board == "NVIDIA Jetson AGX Orin Developer Kit"


@pytest.mark.parametrize(
    ("files", "platform"),
    [
        ({"proc__sys__kernel__osrelease": "5.15.153.1-microsoft-standard-WSL2\n"}, "wsl2"),
        ({".dockerenv": ""}, "container"),
        ({"run__.containerenv": 'engine="podman"\n'}, "container"),
        ({"proc__device_DASH_tree__compatible": "nvidia,p3737\0nvidia,tegra234\0"}, "jetson"),
        ({"proc__device_DASH_tree__model": "Raspberry Pi 5\0"}, ""),
        ({}, ""),
    ],
    ids=["wsl", "docker", "podman", "tegra", "another board", "machine"],
)
def test_what_it_runs_in_is_told(files: dict[str, str], platform: str, tmp_path: Path) -> None:
    """A virtual machine's Linux, a container and a Jetson find their driver elsewhere."""
    seen = system_of(laid(tmp_path, **files))

    assert (seen.platform, seen.board, seen.l4t) == (platform, "", "")


def test_a_release_that_is_written_otherwise_is_left_empty(tmp_path: Path) -> None:
    """Better none than a wrong one."""
    assert system_of(laid(tmp_path, etc__nv_tegra_release="# ROLLING\n")).l4t == ""


def test_assignments_alone_are_read() -> None:
    """What is no assignment is passed over."""
    assert os_release(ODD) == {"ID": "odd", "NAME": "never closed", "VERSION_ID": ""}


def test_the_c_library_is_told() -> None:
    """Two numbers, or nothing."""
    assert glibc_version() == "" or glibc_version().replace(".", "").isdigit()


def test_no_true_clock_is_before_files_that_exist(tmp_path: Path) -> None:
    """The newest of a few that every machine has."""
    files = laid(tmp_path, etc__hostname="box\n")
    later = (tmp_path / "etc/hostname").stat().st_mtime + 1000

    assert newest_file(files) < later
    assert newest_file(files) > later - 2000
    assert newest_file(HostFiles(tmp_path / "none")) == 0


@pytest.mark.parametrize(
    ("said", "version", "notes"),
    [
        ("echo git version 2.39.5", "2.39.5", 0),
        ("echo 'git version 2.47.1.windows.2'", "2.47.1", 0),
        ("echo 'not here' >&2; exit 1", "", 1),
        ("echo something else", "", 1),
    ],
    ids=["plain", "suffix", "fails", "another"],
)
def test_git_tells_its_version(said: str, version: str, notes: int, tmp_path: Path, glances: Glances) -> None:
    """And where it does not, that is noted."""
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\n{said}\n")
    git.chmod(0o755)

    assert git_version(str(git), {}, glances) == version
    assert len(glances.noted()) == notes
    assert git_version("", {}, glances) == ""
