"""What stands before compilers: a program where one can be compiled, else a script."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torchbuild.shim.equipment import lay_launcher

SOURCE = Path(__file__).parents[2] / "torchbuild" / "shim" / "launch.c"


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launcher, compiled here."""
    place = tmp_path_factory.mktemp("launch") / "launch"
    assert lay_launcher("cc", str(SOURCE), str(place)) == ""
    return place


def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    """Under the usual warnings, and as the C of old builders."""
    for standard in ("gnu99", "gnu17"):
        argv = [
            "cc",
            f"-std={standard}",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            str(tmp_path / "l"),
            str(SOURCE),
        ]
        subprocess.run(argv, check=True)


def test_without_a_supervisor_the_compiler_takes_its_place(launch: Path) -> None:
    """Same process, same streams, same exit code: CMake's own checks see no difference."""
    with subprocess.Popen(
        [launch, "sh", "-c", "echo $$; echo told >&2; exit 7"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"]},
    ) as process:
        out, err = process.communicate(timeout=60)

    assert (out, err, process.returncode) == (f"{process.pid}\n", "told\n", 7)


def test_a_supervisor_that_is_gone_is_no_hindrance(launch: Path, tmp_path: Path) -> None:
    """An old variable in a shell does not keep a compiler from running."""
    environ = {"PATH": os.environ["PATH"], "TORCHBUILD_SUPERVISOR": str(tmp_path / "gone")}

    assert subprocess.run([launch, "true"], env=environ, check=False).returncode == 0


@pytest.mark.parametrize(("argv", "code"), [(["/nonexistent"], 127), ([], 2), (["/"], 126)])
def test_what_cannot_be_started_is_told(launch: Path, argv: list[str], code: int) -> None:
    """With a shell's exit code."""
    done = subprocess.run([launch, *argv], capture_output=True, check=False)

    assert done.returncode == code
    assert done.stderr


def test_without_a_compiler_a_script_stands_there(tmp_path: Path) -> None:
    """Nothing is asked then, but everything compiles; and why is told."""
    place = tmp_path / "launch"

    why = lay_launcher("/bin/false", str(SOURCE), str(place))

    assert why.startswith("exit code 1")
    assert subprocess.run([place, "sh", "-c", "exit 3"], check=False).returncode == 3
    assert "No such file" in lay_launcher("/nonexistent/cc", str(SOURCE), str(place))
    assert [path.name for path in tmp_path.iterdir()] == ["launch"]
