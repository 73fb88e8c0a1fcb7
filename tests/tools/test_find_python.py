"""Which Python `make` takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "find_python.sh"
GOOD = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
OLD = '#!/bin/sh\ncase "$2" in *"3, 6"*) exit 0 ;; *) exit 1 ;; esac\n'
BROKEN = "#!/bin/sh\necho no such version >&2\nexit 127\n"
BARE = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; *) exit 0 ;; esac\n'


def find(
    folder: Path, programs: dict[str, str], *argv: str, release: str = ""
) -> subprocess.CompletedProcess[str]:
    """The script on a machine with these programs."""
    (folder / "bin").mkdir()
    for name, text in programs.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "os-release").write_text(release)
    environ = {"PATH": str(folder / "bin"), "TORCHBUILD_OS_RELEASE": str(folder / "os-release")}
    return subprocess.run(
        ["/bin/sh", SCRIPT, *argv], env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("programs", "chosen"),
    [
        ({"python3": GOOD, "python3.12": GOOD}, "python3"),
        ({"python3": OLD, "python3.13": GOOD, "python3.11": GOOD}, "python3.13"),
        ({"python3": BROKEN, "python3.14": BROKEN, "python3.11": GOOD}, "python3.11"),
        ({"python3": BARE, "python3.12": GOOD}, "python3.12"),
        ({"python3": BARE}, "python3"),
        ({"python3": OLD, "python3.12": BARE}, "python3.12"),
        ({"python3": OLD}, "python3"),
        ({"python": GOOD}, "python"),
    ],
    ids=[
        "first",
        "too old",
        "broken shim",
        "no venv",
        "only one without venv",
        "new without venv",
        "only an old one",
        "python",
    ],
)
def test_the_best_python_of_the_path_is_taken(tmp_path: Path, programs: dict[str, str], chosen: str) -> None:
    """New enough and whole first; else what the next script can explain best."""
    done = find(tmp_path, programs)

    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/bin/{chosen}\n")


def test_the_python_that_was_asked_for_is_taken(tmp_path: Path) -> None:
    """`make PYTHON=...` decides."""
    done = find(tmp_path, {"python3": GOOD, "python3.12": GOOD}, "python3.12")

    assert done.stdout == f"{tmp_path}/bin/python3.12\n"


def test_a_python_that_does_not_start_is_not_replaced_in_silence(tmp_path: Path) -> None:
    """What was asked for and is not there is an error."""
    done = find(tmp_path, {"python3": GOOD}, "python3.99")

    assert done.returncode == 1
    assert "error: PYTHON=python3.99 is no Python that starts" in done.stderr


@pytest.mark.parametrize(
    ("release", "fix"),
    [
        ("ID=debian\n", "apt-get install -y python3\n"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install -y python3.12\n"),
        ("ID=unheard-of\n", "install Python 3.11 or newer with your package manager\n"),
        ("", "install Python 3.11 or newer with your package manager\n"),
    ],
    ids=["debian", "like rhel", "unknown", "empty"],
)
def test_without_any_python_the_command_that_installs_one_is_named(
    tmp_path: Path, release: str, fix: str
) -> None:
    """The first thing that can be missing is Python, and then only a shell can say so."""
    done = find(tmp_path, {}, release=release)

    assert done.returncode == 1
    assert done.stderr.startswith("error: no Python is installed\n")
    assert done.stderr.endswith(fix)
