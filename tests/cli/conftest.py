"""A machine of its own for each test of a command, and one with a recipe that needs no network."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main
from torchbuild.cli.places import Places, places
from torchbuild.cli.recipe_files import lock_path, read_recipe
from torchbuild.edges.manifest import tree_digest
from torchbuild.edges.store import DirectoryStore
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSource
from torchbuild.resolve.assemble import recipe_digest
from torchbuild.resolve.lockfile import dump_lock

RECIPE = """\
schema = 1
name = "tiny"

[source]
path = "tree"
epoch = 1706745600

[wheel]
package = "tiny"
version = "1.0"
requires = []
"""


@dataclass
class Ran:
    """One command line that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout, which holds one JSON document and nothing else."""
        return json.loads(self.out)


@dataclass
class Desk:
    """A folder with a recipe, its lock and its tree; caches and workspaces beside it."""

    folder: Path
    recipe: Path
    places: Places
    capsys: pytest.CaptureFixture[str]
    make_lock: Callable[..., Lock]

    def run(self, *argv: str | Path) -> Ran:
        """One command."""
        self.capsys.readouterr()
        code = run_main([str(part) for part in argv])
        seen = self.capsys.readouterr()
        return Ran(code, seen.out, seen.err)

    def stored(self, locator: str, content: bytes) -> Artifact:
        """A file in the store."""
        source = self.folder / "to-store"
        source.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        DirectoryStore(self.places.store).add(source, digest)
        source.unlink()
        return Artifact(locator=locator, sha256=digest, size=len(content))

    def lock(self, *, is_dev: bool = False, allowed: tuple[Path, ...] = (), **changed: Any) -> Lock:
        """Write the lock of the recipe as it stands, with all that it names in the store."""
        recipe = read_recipe(self.recipe, allowed=allowed, is_dev=is_dev)
        fields = {
            "name": recipe.name,
            "recipe": recipe_digest(recipe),
            "source": LockedSource(kind="path", path="tree", tree=tree_digest(self.folder / "tree")),
            "build_requires": (self.stored("pypi:pip/pip-26.0-py3-none-any.whl", b"not pip"),),
        }
        lock = self.make_lock(**(fields | changed))
        lock_path(self.recipe, is_dev=is_dev).write_text(dump_lock(lock), encoding="utf-8")
        return lock

    def only_run(self) -> Path:
        """The one workspace that there is."""
        (path,) = [path for path in self.places.builds.iterdir() if path.is_dir()]
        return path


@pytest.fixture
def desk(machine: Path, capsys: pytest.CaptureFixture[str], make_lock: Callable[..., Lock]) -> Desk:
    """An empty machine but for a recipe that needs no network, and can have a lock."""
    here = machine / "here"
    (here / "tree").mkdir()
    (here / "tree" / "setup.py").write_text("", encoding="utf-8")
    recipe = here / "tiny.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return Desk(here, recipe, places(), capsys, make_lock)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TORCHBUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHBUILD_BUILDS", str(tmp_path / "builds"))
    return tmp_path


@pytest.fixture
def recipe(machine: Path) -> Path:
    """A recipe that is right, and has no lock."""
    path = machine / "here" / "small.toml"
    path.write_text(
        'schema = 1\nname = "small"\n'
        '[source]\ngit = "https://git.example/small.git"\nref = "v1"\n'
        '[wheel]\npackage = "small"\nversion = "1.0"\n'
    )
    return path
