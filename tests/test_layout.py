"""The shape of the code: rooms, names, lengths, and a test for each module."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "torchbuild"
MODULES = sorted(path.relative_to(ROOT) for path in PACKAGE.rglob("*.py"))
STAGES = [path for path in MODULES if path.parent.name == "stages" and path.name != "__init__.py"]
NO_MIRROR = {
    "torchbuild/context.py": "Protocols alone: nothing runs",
    "torchbuild/errors.py": "fields alone; each family is shown in tests/cli/test_boundary.py",
}
"""Modules without a test of their own, each with the reason."""
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 50
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "lib"}
A_STAGE_HAS = {"NAME", "REVISION", "Plan", "Result", "plan", "run"}


@cache
def tree(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def mirrors(path: Path) -> Iterator[Path]:
    """Where a module's test may be: under its own name, or under the name that it is a part of."""
    folder = Path("tests", *path.parts[1:-1])
    words = path.stem.strip("_").split("_")
    for end in range(len(words), 0, -1):
        yield folder / f"test_{'_'.join(words[:end])}.py"


def names_at_top(module: ast.Module) -> set[str]:
    """What a module binds."""
    found = set()
    for node in module.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                found |= {alias.asname or alias.name for alias in aliases}
            case ast.If(body=body) | ast.Try(body=body):
                found |= names_at_top(ast.Module(body=body, type_ignores=[]))
    return found


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=str)
def test_each_module_has_a_test(path: Path) -> None:
    """Who changes a module knows which test to run."""
    there = any((ROOT / mirror).is_file() for mirror in mirrors(path))

    assert there != (str(path) in NO_MIRROR), NO_MIRROR.get(str(path), f"no {next(mirrors(path))}")


def test_no_exemption_is_stale() -> None:
    """A module that is gone needs none."""
    assert set(NO_MIRROR) <= {str(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_module_is_long(path: Path) -> None:
    """A module is read in one sitting."""
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_function_is_long(path: Path) -> None:
    """A function is understood at one look, signature and docstring with it."""
    long = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                long[node.name] = lines

    assert long == {}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_each_module_says_what_it_is(path: Path) -> None:
    """The first thing in a file is what the file is for; the second what others may use."""
    module = tree(path)

    assert ast.get_docstring(module)
    assert path.name == "__init__.py" or "__all__" in names_at_top(module)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_what_a_module_offers_exists(path: Path) -> None:
    """`__all__` is sorted and names nothing that is not there."""
    module = tree(path)
    for node in module.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            offered = ast.literal_eval(node.value)

            assert set(offered) <= names_at_top(module)
            assert len(offered) == len(set(offered))


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_module_is_a_drawer(path: Path) -> None:
    """A name says what is in a module."""
    assert DRAWERS.isdisjoint(path.with_suffix("").parts[1:])


@pytest.mark.parametrize("path", STAGES, ids=str)
def test_each_stage_has_the_same_shape(path: Path) -> None:
    """Plan, resume, slices and dry runs come from these names alone."""
    assert names_at_top(tree(path)) >= A_STAGE_HAS


def test_the_rooms_know_only_whom_they_may() -> None:
    """The layers hold: see .importlinter."""
    lint = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert lint is not None, "import-linter is not installed beside this Python"

    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
