"""What a file on this machine is to us."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.known_files import describe

LOCK = 'schema = 1\nname = "torchlet"\nrecipe = "0123456789abcdef"\nbuild_requires = [{a = 1}, {a = 2}]\n'
RECIPE = 'schema = 1\nname = "torchlet"\n[wheel]\npackage = "torchlet"\nversion = "1.0"\n'
REPORT = '{"schema": 1, "run": "torchlet-12", "outcome": "failed", "seconds": 12.5}'


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (LOCK, {"what": "the lock of recipe torchlet", "recipe": "state 0123456789ab", "build files": "2"}),
        (RECIPE, {"what": "a recipe, called torchlet", "wheel": "torchlet 1.0"}),
        (REPORT, {"what": "the report of run torchlet-12", "outcome": "failed after 12.5 s"}),
        ("hello", {"what": "a file that torchbuild did not write"}),
        ("schema = 1", {"what": "a file that torchbuild did not write"}),
        ("{" * 100_000, {"what": "a file that torchbuild did not write"}),
        ("a = " + "[" * 100_000, {"what": "a file that torchbuild did not write"}),
        ("", {"what": "a file that torchbuild did not write"}),
    ],
    ids=["lock", "recipe", "report", "text", "other TOML", "deep JSON", "deep TOML", "empty"],
)
def test_a_file_is_known_by_what_is_in_it(tmp_path: Path, content: str, facts: dict[str, str]) -> None:
    """Recipes, locks and reports are told apart; anything else is nothing of ours."""
    path = tmp_path / "file"
    path.write_text(content)

    assert describe(path) == facts


def test_a_wheel_is_not_read(tmp_path: Path) -> None:
    """A wheel is known by its name; to inspect it is another command's work."""
    path = tmp_path / "torch-1.whl"
    path.write_bytes(b"\xff" * 2048)

    assert describe(path) == {"what": "a wheel", "size": "2.0 KiB"}


def test_bytes_that_are_no_text_are_not_ours(tmp_path: Path) -> None:
    """A binary file is no crash."""
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xfe\x00")

    assert describe(path) == {"what": "a file that torchbuild did not write"}


def test_a_workspace_says_how_to_enter_it(tmp_path: Path) -> None:
    """The directory of a run leads to its logs and to its environment."""
    run = tmp_path / "torchlet-12"
    (run / "logs").mkdir(parents=True)
    (run / "lock.toml").touch()

    assert describe(run) == {
        "what": "the workspace of run torchlet-12",
        "logs": str(run / "logs"),
        "enter": "torchbuild shell torchlet-12",
    }
    assert describe(tmp_path) == {"what": "a directory that torchbuild did not make"}


def test_a_device_is_not_read() -> None:
    """Reading something endless would never end."""
    assert describe(Path("/dev/zero")) == {"what": "a file that torchbuild did not write"}


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """A path that goes away is told with the system's reason."""
    path = tmp_path / "gone"

    assert describe(path)["what"] == "a file that torchbuild did not write"
