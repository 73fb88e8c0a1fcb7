"""The bundle is one file, the same every time, that old interpreters can read."""

from __future__ import annotations

import ast
import zipfile
from pathlib import Path

import pytest

from torchbuild.errors import HostError
from torchbuild.smoke.bundle import bundle


def test_same_bytes_every_time(tmp_path: Path) -> None:
    """Two bundles of one tree are equal, whatever the file system's order and dates."""
    first, second = bundle(tmp_path / "a.pyz"), bundle(tmp_path / "b.pyz")

    assert first.read_bytes() == second.read_bytes()


def test_everything_is_old_python_without_dependencies(pyz: Path) -> None:
    """Each module of the bundle is Python 3.8 and imports the standard library and its neighbours only."""
    import sys

    with zipfile.ZipFile(pyz) as archive:
        trees = {name: ast.parse(archive.read(name), feature_version=(3, 8)) for name in archive.namelist()}

    assert "torchbuild_smoke/bundle.py" not in trees
    imported = {
        name.partition(".")[0]
        for tree in trees.values()
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert imported <= sys.stdlib_module_names | {"torchbuild_smoke"}


def test_place_that_cannot_be_written_is_the_hosts(tmp_path: Path) -> None:
    """A directory that is not there is the machine's error."""
    with pytest.raises(HostError) as caught:
        bundle(tmp_path / "gone" / "smoke.pyz")

    assert caught.value.reference == "not-writable"
