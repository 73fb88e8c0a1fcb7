"""A container engine that runs, and the smallest image it can run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from torchbuild.cli.builder_image import ensure_image, lock_packages
from torchbuild.cli.locking import world
from torchbuild.cli.places import Places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.edges.engine import find_engine
from torchbuild.edges.image import inspect_image
from torchbuild.edges.image_load import EngineStorage
from torchbuild.errors import HostError, TorchbuildError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.locked_image import LockedImage

SMALLEST = "localhost/torchbuild-test/smallest"
RECIPE = """\
schema = 1
name = "bare"
[source]
path = "tree"
epoch = 1706745600
[python]
version = "3.13"
[image]
name = "{image}"
suite = "trixie"
packages = ["{package}"]
[wheel]
package = "bare"
version = "1.0"
"""
"""A minimal root and next to nothing."""


@pytest.fixture(scope="session")
def image_recipe() -> str:
    """A recipe whose image has one package more than nothing: to be formatted with `image` and `package`."""
    return RECIPE


def unavailable(reason: str) -> NoReturn:
    """Skip; or fail, where whoever runs the tests says that the engine must be there."""
    if "container" in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.fail(f"TORCHBUILD_TEST_REQUIRE asks for a container engine, and {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def engine() -> str:
    """An engine that answers; TORCHBUILD_TEST_ENGINE says which one, where there are several."""
    try:
        return find_engine(os.environ.get("TORCHBUILD_TEST_ENGINE", "auto"))
    except HostError as error:
        unavailable(f"{error.what}: {'; '.join(error.why)}")


@pytest.fixture(scope="session")
def package_cache() -> Path:
    """Where downloaded packages are kept between test runs."""
    kept = os.environ.get("TORCHBUILD_TEST_CACHE")
    return Path(kept) if kept else Path.home() / ".cache" / "torchbuild-test"


@pytest.fixture(scope="session")
def image(engine: str, package_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> ImageRef:
    """The image that TORCHBUILD_TEST_IMAGE names, or a bare root, made once and kept by the engine."""
    name = os.environ.get("TORCHBUILD_TEST_IMAGE", "")
    if not name:
        name = SMALLEST
        try:
            make_smallest(engine, package_cache, tmp_path_factory.mktemp("image"))
        except TorchbuildError as error:
            unavailable(f"no image can be made here: {error.what}: {'; '.join(error.why)}")
    # An engine may answer and still be unable to run anything on this machine.
    first = subprocess.run(
        [engine, "run", "--rm", "--network=none", "--pull=never", name, "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if first.returncode != 0:
        unavailable(f"{engine} runs nothing here (try .ci/podman.sh exec COMMAND): {first.stderr[-400:]}")
    return inspect_image(engine, name)


PROGRAMS = [
    "bash",
    "cat",
    "chmod",
    "dd",
    "echo",
    "env",
    "false",
    "head",
    "id",
    "ls",
    "mkdir",
    "printf",
    "pwd",
    "readlink",
    "rm",
    "seq",
    "setsid",
    "sh",
    "sleep",
    "touch",
    "true",
]


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root as an image has one, of a few programs of this machine: no engine is needed for it."""
    root = tmp_path_factory.mktemp("image") / "root"
    for folder in ("usr/bin", "etc", "var/tmp", "tmp"):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / "usr" / name).mkdir(exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "var" / "run").symlink_to("/run")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/bin:/bin")
        if found is None:
            pytest.skip(f"this machine has no {program}")
        shutil.copy(found, root / "usr" / "bin" / program)
        for library in libraries_of(found):
            place = root / os.path.realpath(library.parent).lstrip("/") / library.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    return root


def libraries_of(program: str) -> list[Path]:
    """What the loader opens for it, the loader included."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(word) for line in told.splitlines() for word in line.split() if word.startswith("/")]


def make_smallest(engine: str, cache: Path, folder: Path) -> None:
    """Make the image out of locked packages, as a build does; what was resolved once is kept in the cache."""
    recipe, kept = folder / "smallest.toml", cache / "smallest.json"
    recipe.write_text(RECIPE.format(image=SMALLEST, package="patch"))
    wanted = read_recipe(recipe)
    there = world(wanted, Places(cache=cache / "smallest", builds=folder / "builds"), folder)
    builder = LockedImage.model_validate_json(kept.read_text()) if kept.is_file() else None
    builder = builder or lock_packages(wanted, there, print)
    assert builder is not None
    ensure_image(builder, SMALLEST, EngineStorage(engine), there, print)
    kept.write_text(builder.model_dump_json())
