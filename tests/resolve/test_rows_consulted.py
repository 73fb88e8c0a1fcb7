"""Rows that were consulted decide a lock and its keys; a table, or another row of it, never does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import torchbuild

PACKAGE = Path(torchbuild.__file__).parent

MAKE = """
import json, sys
import torchbuild
assert torchbuild.__file__.startswith(sys.argv[1])
from torchbuild.pipeline import keys, plan_all
from torchbuild.resolve.assemble import Answers, lock_of
from torchbuild.resolve.load import load_recipe
from torchbuild.resolve.lockfile import dump_lock
recipe = load_recipe("recipe.toml", lambda _path: sys.argv[2])
lock = lock_of(recipe, Answers.model_validate_json(sys.argv[3]))
print(json.dumps({"lock": dump_lock(lock), **keys(plan_all(lock))}))
"""

RECIPE = """\
schema = 1
name = "sample"
source = { git = "https://example.org/sample.git", ref = "v1" }
blas = { provider = "generic" }
build = { preset = "minimal", flags = { USE_OPENMP = false } }
wheel = { version = "2.6.0", requires = [] }
"""

Edit = Callable[[str], str]


def made(package: Path, answers: Any) -> dict[str, str]:
    """The lock and the key of each stage, as this copy of the package makes them."""
    argv = [sys.executable, "-c", MAKE, str(package), RECIPE, answers().model_dump_json()]
    environ = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environ, cwd=package)
    assert done.returncode == 0, done.stderr
    result: dict[str, str] = json.loads(done.stdout)
    return result


def edited(tmp_path: Path, edits: dict[str, Edit]) -> Path:
    """A copy of the package whose tables say something else."""
    copy = tmp_path / "copy"
    shutil.copytree(PACKAGE, copy / "torchbuild", ignore=shutil.ignore_patterns("__pycache__"))
    for name, edit in edits.items():
        path = copy / "torchbuild" / "knowledge" / "data" / f"{name}.toml"
        before = path.read_text(encoding="utf-8")
        after = edit(before)
        assert after != before, f"{name}: nothing was changed"
        path.write_text(after, encoding="utf-8")
    return copy


def replaced(old: str, new: str) -> Edit:
    """Every occurrence."""
    return partial(lambda old, new, text: text.replace(old, new), old, new)


def dated(text: str) -> str:
    """Every row was checked again, from another source."""
    text = re.sub(r'^checked = ".*"$', 'checked = "2031-01-01"', text, flags=re.MULTILINE)
    return re.sub(r'^source = ".*"$', 'source = "somewhere else"', text, flags=re.MULTILINE)


NOT_CONSULTED: dict[str, dict[str, Edit]] = {
    "another BLAS": {"blas": replaced('"OpenBLAS"', '"OpenBLAS2"')},
    "another preset": {"presets": replaced("INSTALL_TEST", "INSTALL_TESTS")},
    "another era": {"eras": replaced("scikit-build-core>=1.0", "scikit-build-core>=9.0")},
    "another package's late source": {"late_sources": replaced("NVIDIA/nccl.git", "NVIDIA/other.git")},
    "what a reference means": {"references": replaced("A server has the file", "No server has the file")},
    "where facts are from, and when they were read": dict.fromkeys(
        ("blas", "cmake_variables", "eras", "late_sources", "options", "presets", "switches"), dated
    ),
}

CONSULTED: dict[str, dict[str, Edit]] = {
    "its BLAS": {"blas": replaced('"Generic"', '"Generic2"')},
    "its preset": {"presets": replaced('"USE_FBGEMM",', "")},
}


@pytest.fixture(scope="module")
def unchanged() -> dict[str, str]:
    """What the package as it is makes, once for all tests."""
    return {}


def baseline(unchanged: dict[str, str], answers: Any) -> dict[str, str]:
    """The same for the package as it is."""
    if not unchanged:
        unchanged |= made(PACKAGE.parent, answers)
    return unchanged


@pytest.mark.parametrize("case", NOT_CONSULTED)
def test_a_row_that_was_not_consulted_changes_nothing(
    tmp_path: Path, answers: Any, unchanged: dict[str, str], case: str
) -> None:
    """A newer version that knows more makes no lock stale and no hour's work undone."""
    before = baseline(unchanged, answers)

    assert made(edited(tmp_path, NOT_CONSULTED[case]), answers) == before


@pytest.mark.parametrize("case", CONSULTED)
def test_a_row_that_was_consulted_changes_the_lock_and_what_it_decides(
    tmp_path: Path, answers: Any, unchanged: dict[str, str], case: str
) -> None:
    """Its values are in the lock, and from there in the keys of configure and all that follows; not before."""
    before = baseline(unchanged, answers)

    after = made(edited(tmp_path, CONSULTED[case]), answers)

    assert after["lock"] != before["lock"]
    changed = {name for name in before if before[name] != after[name]} - {"lock"}
    assert changed == {"configure", "compile", "package", "verify", "publish"}
