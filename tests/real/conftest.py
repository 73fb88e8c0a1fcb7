"""The builder image with a real engine, or the reason why the real tree is not built here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from torchbuild.edges.engine import find_engine
from torchbuild.errors import HostError

IMAGE = "localhost/torchbuild/debian-trixie"
HOW = (
    "the real PyTorch tree takes minutes, gigabytes and the builder image: ask for it with "
    "TORCHBUILD_TEST_REQUIRE=real, or run .ci/run"
)


def impossible(reason: str) -> NoReturn:
    """Who asked for these tests must hear that they could not even begin."""
    pytest.fail(f"TORCHBUILD_TEST_REQUIRE asks for the real tree, and {reason}")


@pytest.fixture(scope="session")
def builder() -> str:
    """The builder image's name; a container of it has been run."""
    if "real" not in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.skip(HOW)
    name = os.environ.get("TORCHBUILD_TEST_IMAGE") or IMAGE
    try:
        engine = find_engine("auto")
    except HostError as error:
        impossible(f"{error.what}: {'; '.join(error.why)}")
    first = subprocess.run(
        [engine, "run", "--rm", "--network=none", "--pull=never", name, "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if first.returncode != 0:
        impossible(f"{engine} runs nothing of {name} (docker/debian-trixie makes it): {first.stderr[-400:]}")
    return name


@pytest.fixture(scope="session")
def downloads() -> Path:
    """What was fetched is kept between test runs, by digest."""
    kept = os.environ.get("TORCHBUILD_TEST_CACHE")
    place = (Path(kept) if kept else Path.home() / ".cache" / "torchbuild-test") / "real"
    place.mkdir(parents=True, exist_ok=True)
    return place
