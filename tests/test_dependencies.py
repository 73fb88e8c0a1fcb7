"""What the package needs of others is declared, and what it declares it needs."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
IMPORTED_AS = {
    "cmake-parser": "cmake_parser",
    "gitpython": "git",
    "nvidia-ml-py": "pynvml",
    "pyelftools": "elftools",
    "tomli-w": "tomli_w",
}
STARTED = {"cmake", "ninja", "pip"}
"""Programs, and what a build is compared with: nothing imports them."""
BROUGHT = {"pydantic_core": "pydantic", "urllib3": "requests"}
"""Parts of others that these always bring."""
OF_THE_SUBJECT = {"numpy", "torch"}
"""What the run-time checks meet beside the wheel that they are about."""


def imported() -> set[str]:
    """Top names of all imports, wherever they stand, but of the standard library and our own."""
    found: set[str] = set()
    for path in (ROOT / "torchbuild").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {item.name.partition(".")[0] for item in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    ours = {"torchbuild", "torchbuild_shim"}
    return {BROUGHT.get(name, name) for name in found} - set(sys.stdlib_module_names) - ours - OF_THE_SUBJECT


def declared() -> set[str]:
    """Names of the requirements of the package itself."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {Requirement(text).name.lower() for text in table["project"]["dependencies"]}


def test_all_that_is_imported_is_installed_with_us() -> None:
    """No command ends in an import error on a machine that has only what we ask for."""
    assert imported() == {IMPORTED_AS.get(name, name) for name in declared() - STARTED}


def test_a_dependency_that_surprises_has_its_reason() -> None:
    """Whoever wonders why it is there finds a sentence."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in ("capstone", "cmake-parser", "pip", "pyelftools", "tenacity", "tomli-w"):
        assert f"- `{name}`: " in text
