"""The builder image out of a distribution's packages: made once, found afterwards, the same everywhere."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torchbuild.model.artifact import ImageRef

MAKE_IMAGE = Path(__file__).parents[2] / "docker" / "debian-trixie" / "make_image.py"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("make_image", MAKE_IMAGE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_package_list_allows_comments(maker: ModuleType, tmp_path: Path) -> None:
    """A package list says why a package is there; order and repetition do not matter."""
    (tmp_path / "list").write_text("# compilers\nmake  # for old trees\n\ng++\nmake\n")
    assert maker.read_packages(tmp_path / "list") == ["g++", "make"]


def test_other_packages_are_another_image(maker: ModuleType) -> None:
    """An image is found again by all that it is made of."""
    digests = {
        maker.digest_of_inputs(suite, packages) for suite in ("a", "b") for packages in ([], ["x"], ["y"])
    }
    assert len(digests) == 6


def test_own_package_list_can_be_read(maker: ModuleType) -> None:
    """The list that stands beside the script is one."""
    assert "git" in maker.read_packages(MAKE_IMAGE.with_name("packages.txt"))


def test_configuration_says_nothing_of_the_machine(maker: ModuleType) -> None:
    """The image's id depends on its content alone, so that a lock holds on every machine."""
    config = json.dumps(maker.image_config("ab" * 32, "inputs"))
    assert config == json.dumps(maker.image_config("ab" * 32, "inputs"))
    assert "hostname" not in config.lower()


def test_missing_engine_is_told() -> None:
    """Without an engine the script says what to install, and ends with an error."""
    done = subprocess.run(
        [sys.executable, str(MAKE_IMAGE), "--engine=no-such-engine"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, "install it" in done.stderr) == (1, "", True)


@pytest.mark.container
def test_second_call_does_nothing(engine: str, image: ImageRef, package_cache: Path, tmp_path: Path) -> None:
    """The same inputs find the image that is there: its id is printed at once, and no root is made."""
    name = "localhost/torchbuild-test/smallest"
    (tmp_path / "list").write_text("")
    argv = [
        sys.executable,
        str(MAKE_IMAGE),
        f"--engine={engine}",
        f"--name={name}",
        f"--packages={tmp_path}/list",
    ]
    calls = [
        subprocess.run([*argv, f"--cache={package_cache}"], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert ("is there already" in calls[1].stderr, calls[1].stdout) == (True, calls[0].stdout)
