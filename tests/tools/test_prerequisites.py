"""What `make` says on a machine that lacks something."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
RELEASES = {
    "debian": "ID=debian\nVERSION_ID=12\n",
    "ubuntu": 'ID="ubuntu"\nID_LIKE=debian\n',
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "mint": "ID=linuxmint\nID_LIKE='ubuntu debian'\n",
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("prerequisites", TOOLS / "prerequisites.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def release(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """An os-release file."""
    path = tmp_path / "os-release"
    path.write_text(RELEASES[request.param])
    return path


def programs(folder: Path, *names: str) -> Path:
    """A PATH that holds these programs, which do nothing."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def check(path: Path, release: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The script on a machine with this PATH and this os-release."""
    environ |= {"PATH": str(path), "TORCHBUILD_OS_RELEASE": str(release)}
    argv = [sys.executable, str(TOOLS / "prerequisites.py")]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("debian", "apt-get install -y git g++"),
        ("ubuntu", "apt-get install -y git g++"),
        ("mint", "apt-get install -y git g++"),
        ("rocky", "dnf install -y git gcc-c++"),
        ("leap", "zypper install -y git gcc-c++"),
    ],
    indirect=["release"],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, release: Path, command: str
) -> None:
    """One command, of the distribution at hand or of the one it is like, brings all that is missing."""
    done = check(programs(tmp_path / "bin"), release)

    assert done.returncode == 1
    assert "error: git is not installed" in done.stderr
    assert "error: no C++ compiler is installed" in done.stderr
    assert done.stderr.rstrip().endswith(command)


@pytest.mark.parametrize("release", ["debian"], indirect=True)
@pytest.mark.parametrize(
    ("there", "environ"),
    [(["git", "c++"], {}), (["git", "clang++"], {}), (["git", "mycc"], {"CXX": "mycc -m64"})],
    ids=str,
)
def test_a_machine_with_everything_is_fine(
    tmp_path: Path, release: Path, there: list[str], environ: dict[str, str]
) -> None:
    """Nothing is said where nothing is missing, whatever the compiler is called."""
    done = check(programs(tmp_path / "bin", *there), release, **environ)

    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_distribution_gets_words(tmp_path: Path) -> None:
    """Where no command is known, none is made up."""
    done = check(programs(tmp_path / "bin"), tmp_path / "no-such-file")

    assert done.returncode == 1
    assert "with your package manager" in done.stderr


def test_a_python_without_venv_names_the_package_of_its_version(script: ModuleType) -> None:
    """Debian's `python3-venv` fits its default Python only; the right one has the version in its name."""
    lack = script.Missing("Python cannot make environments", "x has no venv and ensurepip", "venv")
    names = script.package_names({"ID": "debian"}, script.read_table(TOOLS / "packages.txt"))
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"

    text = script.report([lack], names, "sudo ")

    assert f"  fix   sudo apt-get install -y python{version}-venv\n" in text
    assert "make PYTHON=/path/to/python3.12" in text


def test_where_the_package_is_python_itself_no_command_is_made_up(script: ModuleType) -> None:
    """A distribution that ships `venv` with Python has no package for it."""
    lack = script.Missing("Python cannot make environments", "x", "venv")
    names = script.package_names({"ID": "fedora"}, script.read_table(TOOLS / "packages.txt"))

    assert "with your package manager" in script.report([lack], names, "")


OLD = [Path(path) for path in os.environ.get("TORCHBUILD_OLD_PYTHONS", "").split(":") if path]


@pytest.mark.skipif(not OLD, reason="TORCHBUILD_OLD_PYTHONS names no Python older than 3.11")
@pytest.mark.parametrize("python", OLD, ids=str)
def test_an_old_python_says_that_it_is_too_old(python: Path) -> None:
    """Python 3.6 to 3.10 can read the script well enough to say what is wrong."""
    done = subprocess.run([python, TOOLS / "prerequisites.py"], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "error: Python is too old" in done.stderr


def test_every_row_of_the_table_is_whole(script: ModuleType) -> None:
    """Each distribution has all columns, and rows are sorted."""
    table = script.read_table(TOOLS / "packages.txt")

    assert list(table) == sorted(table)
    assert all(all(cell for cell in row.values()) for row in table.values())
