"""One tree, one builder image, three executors: an engine's container, its unpacked root, and a machine like it.

The machine whose own tools are the image's is the image's root itself: torchbuild runs in it, with its packages
for that interpreter, and builds with the executor that knows no images.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from torchbuild.edges.atomic import remove_tree
from torchbuild.edges.engine import find_engine
from torchbuild.edges.image import inspect_image
from torchbuild.edges.package_index import machine_index
from torchbuild.edges.roots import rootfs_for
from torchbuild.edges.sandbox import launcher

REPOSITORY = Path(__file__).parents[2]
PYTHON = "3.13"

pytestmark = [pytest.mark.container, pytest.mark.timeout(1800)]


def impossible(reason: str) -> NoReturn:
    """Skip; or fail, where whoever runs the tests says that an engine must be there."""
    if "container" in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.fail(f"TORCHBUILD_TEST_REQUIRE asks for a container engine, and {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def image_root(engine_image: str, downloads: Path) -> Path:
    """The engine's image as a directory of the cache: exported once."""
    engine, roots = find_engine("auto"), downloads / "roots"
    image = inspect_image(engine, engine_image)
    downloads.mkdir(parents=True, exist_ok=True)
    with FileLock(downloads / "roots.busy"):
        if not (roots / image.id).is_dir():
            remove_tree(roots)  # an older image of that name
            roots.mkdir()
            saved = roots / "image.tar"
            subprocess.run([engine, "save", "--output", str(saved), engine_image], check=True)
            rootfs_for(roots, image)
            saved.unlink()
        return rootfs_for(roots, image)


@pytest.fixture(scope="session")
def packages(downloads: Path) -> Path:
    """What torchbuild needs, for the image's interpreter."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    mark = hashlib.sha256(repr(sorted(wanted)).encode()).hexdigest()[:12]
    place = downloads / f"packages-{mark}"
    with FileLock(f"{place}.busy"):
        if not place.is_dir():
            temp = place.with_name(f"{place.name}.unfinished")
            remove_tree(temp)
            where = ["--target", str(temp), "--python-version", PYTHON, "--only-binary=:all:"]
            argv = [sys.executable, "-m", "pip", "install", "--quiet", *where, *wanted]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                impossible(f"no packages for Python {PYTHON} are to be had: {done.stderr[-400:]}")
            temp.rename(place)
    return place


@dataclass(frozen=True)
class ImagesMachine:
    """A machine whose files are an image's, with torchbuild on it."""

    root: Path
    packages: Path
    repos: Path
    cache: Path
    folder: Path

    def run(self, verb: str) -> subprocess.CompletedProcess[str]:
        """Run torchbuild on torchlet's plain recipe there."""
        index = machine_index()
        environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/machine/home",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": "/machine/torchbuild:/machine/packages",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHBUILD_CACHE": "/machine/cache",
            "TORCHBUILD_BUILDS": "/machine/home/builds",
            **({"PIP_CERT": "/machine/authorities"} if index.ca_file else {}),
        }
        settings = ["source.git=/machine/repos/torchlet", f"python.version={PYTHON}"]
        settings += ["machine.executor=local", f"machine.index_url={index.index_url}"]
        words = [
            *(*launcher(), f"--image={self.root}", "--chdir=/machine", f"--bind={self.cache}=/machine/cache"),
            *(f"--bind={self.folder}=/machine/home", f"--ro-bind={self.packages}=/machine/packages"),
            *(f"--ro-bind={REPOSITORY}=/machine/torchbuild", f"--ro-bind={self.repos}=/machine/repos"),
            *([f"--ro-bind={index.ca_file}=/machine/authorities"] if index.ca_file else []),
            *(f"--env={name}={value}" for name, value in environ.items()),
            *("--", f"/usr/bin/python{PYTHON}", "-m", "torchbuild", *verb.split()),
            *("/machine/torchbuild/examples/torchlet/recipe.toml", "--lock", "/machine/home/torchlet.lock"),
            *(word for setting in settings for word in ("--set", setting)),
        ]
        return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(image_root: Path, packages: Path, repos: Path, downloads: Path, tmp_path: Path) -> Iterator[Any]:
    """Such a machine, its workspaces removed afterwards."""
    folder = tmp_path / "home"
    folder.mkdir()
    yield ImagesMachine(image_root, packages, repos, downloads, folder)
    remove_tree(folder)


def digest_of(wheel: Path) -> str:
    """Of the wheel's bytes."""
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_all_executors_make_one_wheel(
    engine_image: str, machine: ImagesMachine, fresh: Any, arguments: Any, tmp_path: Path
) -> None:
    """A container, an unpacked image and a machine with the same tools give the same wheel, to the byte."""
    lock = arguments("recipe-container.toml", f'image.name="{engine_image}"', name="one-wheel")
    seen = {}
    for engine in (Path(find_engine("auto")).name, "rootfs"):
        bench = replace(fresh, builds=tmp_path / "some" / engine)
        ended = bench.good(
            "build", *lock, "--set", f"machine.engine={engine}", "--locked", "--out", engine, "--json"
        )
        seen[engine] = digest_of(Path(ended.json["wheel"]))
    locked = machine.run("lock")
    assert locked.returncode == 0, locked.stderr
    built = machine.run("build --locked --out /machine/home/dist")
    assert built.returncode == 0, built.stderr
    (wheel,) = (machine.folder / "dist").glob("*.whl")
    seen["local"] = digest_of(wheel)

    assert seen == dict.fromkeys(seen, seen["local"])
    assert len(seen) == 3
