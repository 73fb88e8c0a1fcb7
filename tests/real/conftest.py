"""The installed command on the real recipe, the builder image, or the reason why the real tree is not built here."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest

from torchbuild.edges.engine import find_engine
from torchbuild.errors import HostError

IMAGE = "localhost/torchbuild/debian-trixie"
HOW = (
    "the real PyTorch tree takes minutes, gigabytes and the builder image: ask for it with "
    "TORCHBUILD_TEST_REQUIRE=real, or run .ci/run"
)
RECIPE = Path(__file__).parents[2] / "recipes" / "debian" / "torch-2.6-cpu.toml"
CLI = Path(sys.executable).with_name("torchbuild")
SHARED = ("store", "debian", "git", "partial")
"""What a cache directory holds besides the compiler's results."""


def impossible(reason: str) -> NoReturn:
    """Who asked for these tests must hear that they could not even begin."""
    pytest.fail(f"TORCHBUILD_TEST_REQUIRE asks for the real tree, and {reason}")


@pytest.fixture(scope="session")
def engine() -> str:
    """A container engine that answers; asked for only where the real tree is."""
    if "real" not in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.skip(HOW)
    try:
        return find_engine("auto")
    except HostError as error:
        impossible(f"{error.what}: {'; '.join(error.why)}")


@pytest.fixture(scope="session")
def builder(engine: str) -> str:
    """The builder image's name; a container of it has been run."""
    name = os.environ.get("TORCHBUILD_TEST_IMAGE") or IMAGE
    first = subprocess.run(
        [engine, "run", "--rm", "--network=none", "--pull=never", name, "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if first.returncode != 0:
        impossible(
            f"{engine} runs nothing of {name} (torchbuild image recipes/debian/torch-2.6-cpu.toml makes it): {first.stderr[-400:]}"
        )
    return name


@pytest.fixture(scope="session")
def downloads() -> Path:
    """What was fetched is kept between test runs, by digest."""
    kept = os.environ.get("TORCHBUILD_TEST_CACHE")
    place = (Path(kept) if kept else Path.home() / ".cache" / "torchbuild-test") / "real"
    for name in SHARED:
        (place / name).mkdir(parents=True, exist_ok=True)
    return place


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: dict[str, Any]
    err: str

    @property
    def outcomes(self) -> dict[str, str]:
        """How each stage ended."""
        return {item["stage"]: item["outcome"] for item in self.out["stages"]}

    @property
    def error(self) -> dict[str, Any]:
        """What was refused, and why."""
        found: dict[str, Any] = self.out["error"]
        return found


class Torchbuild:
    """The installed command, with directories of its own; what is fetched is shared with everybody."""

    def __init__(self, top: Path, downloads: Path, image: str, recipe: Path) -> None:
        self.top, self.builds, self.cache = top, top / "builds", top / "cache"
        self.recipe, self.lock, self.image = recipe, top / "recipe.lock", image
        self.cache.mkdir(parents=True)
        for name in SHARED:
            (self.cache / name).symlink_to(downloads / name)

    def elsewhere(self) -> Torchbuild:
        """The same command, lock and caches with a directory of workspaces of its own."""
        other = copy.copy(self)
        other.builds = self.top / "elsewhere"
        return other

    def argv(self, command: str, *options: str) -> list[str]:
        """The command line."""
        places = ["--lock", str(self.lock), "--allow-path", str(RECIPE.parent)]
        return [
            *(str(CLI), command, str(self.recipe)),
            *(*places, "--set", f"image.name={self.image}", *options),
        ]

    def environ(self) -> dict[str, str]:
        """The caller's environment, and our places."""
        return os.environ | {"TORCHBUILD_CACHE": str(self.cache), "TORCHBUILD_BUILDS": str(self.builds)}

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            self.argv(command, *options),
            cwd=self.top,
            env=self.environ(),
            capture_output=True,
            text=True,
            check=False,
        )

    def call(self, command: str, *options: str) -> Ended:
        """Run to the end and read the JSON that it prints."""
        done = self.run(command, "--json", *options)
        return Ended(done.returncode, json.loads(done.stdout), done.stderr)

    def build(self, *options: str) -> Ended:
        """`torchbuild build`, which must end as asked."""
        ended = self.call("build", *options)
        assert ended.code == 0, ended.err[-4000:] + json.dumps(ended.out, indent=1)[-4000:]
        return ended

    @property
    def workspace(self) -> Path:
        """The one workspace."""
        (found,) = self.builds.iterdir()
        return found

    @property
    def build_tree(self) -> Path:
        """CMake's build tree."""
        return self.workspace / "root" / "source" / "build"

    def report(self, stage: str) -> dict[str, Any]:
        """What the report says of a stage."""
        stages = json.loads((self.workspace / "report.json").read_text())["stages"]
        found: dict[str, Any] = next(item for item in stages if item["stage"] == stage)
        return found

    def gate(self) -> list[dict[str, str]]:
        """What the gate compared."""
        text = (self.workspace / "root/shim/gate.json").read_text()
        found: list[dict[str, str]] = json.loads(text)["findings"]
        return found

    def built(self) -> list[str]:
        """What ninja built in the build tree."""
        try:
            lines = (self.build_tree / ".ninja_log").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.split("\t")[3] for line in lines if not line.startswith("#")]

    def objects(self) -> list[str]:
        """Object files that ninja made."""
        return [name for name in self.built() if name.endswith(".o")]

    def compiler_calls(self, *kinds: str) -> int:
        """Compiler calls of the last compile: of some kinds, or all that went through the compiler cache."""
        evidence = self.report("compile")["evidence"]
        counted = kinds or ("direct_cache_hit", "preprocessed_cache_hit", "cache_miss")
        return sum(int(evidence.get(f"cache_{kind}", 0)) for kind in counted)

    def processes(self) -> list[psutil.Process]:
        """Every process of the machine for which this workspace lies at the fixed path."""
        root, found = (self.workspace / "root").stat(), []
        for process in psutil.process_iter():
            try:
                seen = Path(f"/proc/{process.pid}/root/torchbuild").stat()
            except OSError:
                continue
            if (seen.st_dev, seen.st_ino) == (root.st_dev, root.st_ino):
                found.append(process)
        return found


Make = Callable[..., Torchbuild]


@pytest.fixture(scope="module")
def torchbuild(downloads: Path, builder: str) -> Iterator[Make]:
    """Makes one in a directory, on the shipped recipe or another; what it built is removed in the end."""
    made: list[Torchbuild] = []

    def make(top: Path, recipe: Path = RECIPE) -> Torchbuild:
        made.append(Torchbuild(top, downloads, builder, recipe))
        return made[-1]

    yield make
    for item in made:
        # beside the next tests: some disks take minutes for a hundred thousand files
        os.spawnvp(os.P_NOWAIT, "rm", ["rm", "-rf", str(item.top)])  # noqa: S606  an argv list, no shell
