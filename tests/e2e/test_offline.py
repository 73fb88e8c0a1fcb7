"""A tree that fetches in the middle of its build, and hides that it failed: the build ends there, with the name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

CLONE = """
execute_process(COMMAND git clone --quiet https://late.example/dependency.git late
  WORKING_DIRECTORY "${PROJECT_BINARY_DIR}" RESULT_VARIABLE ignored ERROR_QUIET)
message(STATUS "went on after ${ignored}")
"""
CONNECT = """
add_custom_target(fetch ALL COMMAND "${Python_EXECUTABLE}" -I -c
  "import socket; socket.socket().connect_ex(('192.0.2.1', 443))" || true COMMAND touch went-on VERBATIM)
add_dependencies(torchlet fetch)
"""


@pytest.fixture
def tree(repos: Path, tmp_path: Path) -> Path:
    """Torchlet's repository, to be changed."""
    for name in ("torchlet", "nanofmt"):
        shutil.copytree(repos / name, tmp_path / "repos" / name, symlinks=True)
    return tmp_path / "repos" / "torchlet"


def change(tree: Path, cmake: str) -> None:
    """Let the tree do more at the end of its CMakeLists.txt."""
    with (tree / "CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(cmake)
    person = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for argv in (("commit", "--quiet", "-am", "late"), ("tag", "--force", "v1.0.0")):
        subprocess.run(["git", *person, *argv], cwd=tree, check=True, capture_output=True)


def stopped(fresh: Any, arguments: Any, tree: Path, recipe: str, *more: str) -> Mapping[str, Any]:
    """Build, until it is refused; the error."""
    settings = (f"source.git={tree}", *more)
    lock = arguments(recipe, *settings, name=f"offline-{recipe.partition('.')[0]}-{tree.parents[1].name}")
    ended = fresh.run("build", *lock, "--until", "package", "--json")
    assert ended.code == 8, ended.err + ended.out
    error: Mapping[str, Any] = ended.error
    return error


def test_a_clone_whose_failure_is_ignored_ends_configure(fresh: Any, arguments: Any, tree: Path) -> None:
    """CMake would go on without the dependency; the error names the host, git and who started it."""
    change(tree, CLONE)

    error = stopped(fresh, arguments, tree, "recipe.toml")

    assert error["reference"] == "network-asked"
    assert "late.example" in error["what"]
    assert any("git-remote-https origin https://late.example/dependency.git" in line for line in error["why"])
    assert any("started by: git clone" in line for line in error["why"])
    assert "went on after" not in Path(error["link"]).read_text(encoding="utf-8")


def test_a_connect_by_address_ends_compile(fresh: Any, arguments: Any, tree: Path) -> None:
    """No name is looked up, and the edge swallows the failure; the build ends at it all the same."""
    change(tree, CONNECT)

    error = stopped(fresh, arguments, tree, "recipe.toml")

    assert error["reference"] == "network-asked"
    assert "192.0.2.1:443" in error["what"]
    assert Path(error["link"]).name == "compile.log"
    assert not list(fresh.builds.glob("*/root/source/build/went-on"))


@pytest.mark.container
def test_a_clone_ends_configure_in_a_container_too(
    fresh: Any, arguments: Any, tree: Path, engine_image: str
) -> None:
    """The engine's own profile lets the guard work."""
    change(tree, CLONE)

    error = stopped(fresh, arguments, tree, "recipe-container.toml", f'image.name="{engine_image}"')

    assert error["reference"] == "network-asked"
    assert "late.example" in error["what"]
