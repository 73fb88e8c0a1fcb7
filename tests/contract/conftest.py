"""A container engine that runs, and the smallest image it can run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from torchbuild.edges.engine import find_engine
from torchbuild.edges.image import inspect_image
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef

MAKE_IMAGE = Path(__file__).parents[2] / "docker" / "debian-trixie" / "make_image.py"
SMALLEST = "localhost/torchbuild-test/smallest"


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
        nothing = tmp_path_factory.mktemp("image") / "packages.txt"
        nothing.write_text("# the bare root is enough\n")
        made = make_image(engine, name, nothing, package_cache)
        if made.returncode != 0:
            unavailable(f"no image can be made here: {made.stderr[-400:]}")
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


def make_image(engine: str, name: str, packages: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run the stand-alone maker as a user does."""
    argv = [sys.executable, str(MAKE_IMAGE), f"--engine={engine}", f"--name={name}", f"--packages={packages}"]
    return subprocess.run([*argv, f"--cache={cache}"], capture_output=True, text=True, check=False)
