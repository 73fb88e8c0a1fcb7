"""The image of a lock, for real: resolved from a mirror once, then made offline, the same each time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NAME = "localhost/torchbuild-test/locked"
RESOLVE = """
import sys
from pathlib import Path
from torchbuild.cli.builder_image import ensure_image, lock_packages, write_image
from torchbuild.cli.locking import world
from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.edges.image_load import EngineStorage
from torchbuild.model.locked_image import LockedImage

verb, recipe, engine, locked = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
wanted = read_recipe(recipe)
there = world(wanted, places(), recipe.parent)
tell = lambda text: print(text, file=sys.stderr)
if verb == "lock":
    builder = lock_packages(wanted, there, tell)
    there.network.fetch(builder.packages, lambda *_: None)
    locked.write_text(builder.model_dump_json())
builder = LockedImage.model_validate_json(locked.read_text())
if verb == "load":
    print(ensure_image(builder, wanted.image.name, EngineStorage(engine), there, tell).id)
if verb == "write":
    print(write_image(builder, Path(sys.argv[5]), wanted.image.name, there, tell).config.sha256)
"""
OFFLINE = ("unshare", "--net", "--")

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace for the whole test needs root"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="mmdebstrap is not installed"),
]


class Maker:
    """Commands on one machine's caches."""

    def __init__(self, top: Path, recipe: str, engine: str, cache: Path) -> None:
        self.top, self.engine, self.cache = top, engine, cache
        self.recipe, self.locked = top / "bare.toml", top / "locked.json"
        self.recipe.write_text(recipe)

    def __call__(self, verb: str, *more: Path, before: tuple[str, ...] = OFFLINE) -> str:
        """What it printed."""
        argv = [*before, sys.executable, "-c", RESOLVE, verb, self.recipe, self.engine, self.locked, *more]
        environ = os.environ | {"TORCHBUILD_CACHE": str(self.cache)}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environ)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def make(
    engine: str, package_cache: Path, image_recipe: str, tmp_path_factory: pytest.TempPathFactory
) -> Maker:
    """A locked image whose packages are in the store."""
    text = image_recipe.format(image=NAME, package="make")
    maker = Maker(tmp_path_factory.mktemp("image"), text, engine, package_cache / "locked-image")
    maker("lock", before=())
    return maker


def test_the_image_twice_offline_has_one_digest(make: Maker, tmp_path: Path) -> None:
    """The same lock gives the same image without a network, and an engine calls it by that digest."""
    image = make("write", tmp_path / "image.tar")
    subprocess.run([make.engine, "rmi", "--force", image], capture_output=True, check=False)
    for record in (make.cache / "images").glob("*.json"):
        record.unlink()

    assert make("load") == image
    loaded = [make.engine, "load", "--input", str(tmp_path / "image.tar")]
    subprocess.run(loaded, check=True, capture_output=True)
    query = [make.engine, "image", "inspect", "--format", "{{.Id}}", NAME]
    seen = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()
    assert seen.removeprefix("sha256:") == image


@pytest.mark.usefixtures("image")  # an engine that runs nothing is no fault of this image
def test_the_image_runs_and_holds_no_trace_of_this_machine(make: Maker) -> None:
    """A program that was asked for starts; mirror, resolver, host name and logs of the making are gone."""
    script = "make --version | head -1; cat /etc/apt/sources.list; ls /etc/apt/sources.list.d /etc/machine-id"
    argv = [make.engine, "run", "--rm", "--network=none", make("load"), "/bin/sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines()[0].startswith("GNU Make")
    assert "http" not in done.stdout
    assert "/etc/machine-id" in done.stderr
