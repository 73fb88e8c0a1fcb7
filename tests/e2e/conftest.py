"""The whole tool as a user calls it: torchlet's repositories, one cache of downloads, workspaces to throw away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from torchbuild.edges.atomic import remove_tree

EXAMPLE = Path(__file__).parents[2] / "examples" / "torchlet"
TORCHBUILD = Path(sys.executable).with_name("torchbuild")
IMAGE = "localhost/torchbuild/debian-trixie"
ERAS = {"setup-py": "recipe.toml", "scikit-build-core": "recipe-scikit-build-core.toml"}
UNREACHABLE = {"index-not-reachable", "not-reachable", "no-package-index"}
PATIENCE_S = 900


@dataclass(frozen=True)
class Ended:
    """One command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout, which holds one JSON document and nothing else."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error, of a command that was called with --json."""
        error: dict[str, Any] = self.json["error"]
        return error

    @property
    def outcomes(self) -> dict[str, str]:
        """Stage -> how it ended."""
        return {item["stage"]: item["outcome"] for item in self.json["stages"]}

    @property
    def compiled(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """The report of the run, and what stage compile found, by reference."""
        report: dict[str, Any] = json.loads(Path(self.json["report"]).read_text(encoding="utf-8"))
        found = [item for one in report["stages"] if one["stage"] == "compile" for item in one["findings"]]
        return report, {item["reference"]: item for item in found}


@dataclass
class Bench:
    """Calls torchbuild with directories of its own."""

    cache: Path
    builds: Path
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def start(self, *argv: str | Path) -> subprocess.Popen[str]:
        """Begin a command."""
        environ = os.environ | {"TORCHBUILD_CACHE": str(self.cache), "TORCHBUILD_BUILDS": str(self.builds)}
        return subprocess.Popen(
            [str(TORCHBUILD), *map(str, argv)],
            cwd=self.folder,
            env=environ | self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *argv: str | Path) -> Ended:
        """Run a command to its end."""
        with self.start(*argv) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except BaseException:
                process.send_signal(signal.SIGKILL)
                raise
        return Ended(process.returncode, out, err)

    def good(self, *argv: str | Path) -> Ended:
        """Run a command that must end well."""
        ended = self.run(*argv)
        assert ended.code == 0, ended.err + ended.out
        return ended

    def root(self, run: str) -> Path:
        """What a build sees at its fixed path."""
        return self.builds / run / "root"


def impossible(reason: str) -> NoReturn:
    """Skip; or fail, where whoever runs the tests says that an engine must be there."""
    if "container" in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.fail(f"TORCHBUILD_TEST_REQUIRE asks for a container engine, and {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of this test run, the same for each of its processes."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "e2e"
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture(scope="session")
def downloads(shared: Path) -> Path:
    """What was fetched; between test runs too where TORCHBUILD_TEST_CACHE says where."""
    kept = os.environ.get("TORCHBUILD_TEST_CACHE")
    return Path(kept) / "torchlet" if kept else shared / "cache"


@pytest.fixture(scope="session")
def repos(shared: Path) -> Path:
    """Torchlet and its submodule as git repositories."""
    with FileLock(f"{shared / 'repos'}.lock"):
        made = subprocess.run(
            [sys.executable, str(EXAMPLE / "make_repo.py"), str(shared / "repos")],
            check=False,
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
    return shared / "repos"


@pytest.fixture(scope="session")
def builds(shared: Path) -> Path:
    """Workspaces that several tests look at."""
    return shared / "builds"


@pytest.fixture
def bench(downloads: Path, builds: Path, tmp_path: Path) -> Iterator[Bench]:
    """The shared cache and workspaces, for one test at a time, and a current directory of its own."""
    with FileLock(builds.with_suffix(".busy")):
        yield Bench(downloads, builds, tmp_path)


@pytest.fixture
def fresh(downloads: Path, tmp_path: Path) -> Iterator[Bench]:
    """The shared cache, and no workspace yet, at a path that no other test has; removed afterwards."""
    yield Bench(downloads, tmp_path / "some" / "where else", tmp_path)
    remove_tree(tmp_path / "some")


def setting(key: str, value: str) -> tuple[str, str]:
    """``--set``."""
    return "--set", f"{key}={value}"


Arguments = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="session")
def arguments(repos: Path, shared: Path, downloads: Path) -> Arguments:
    """The recipe of an era with the repository's address and a lock, made once for all tests that need it."""

    def build(era: str, *settings: str, name: str = "") -> tuple[str, ...]:
        lock = shared / f"{name or era}.lock"
        sets = [*setting("source.git", str(repos / "torchlet")), *(setting("name", name) if name else ())]
        sets += [part for text in settings for part in ("--set", text)]
        whole = (str(EXAMPLE / ERAS.get(era, era)), *sets, "--lock", str(lock))
        with FileLock(f"{lock}.busy"):
            if not lock.exists():
                made = Bench(downloads, shared / "none", shared).run("lock", *whole, "--json")
                if made.code == 7 and made.error["reference"] in UNREACHABLE:
                    pytest.skip(f"the package index is not reachable: {made.error['why']}")
                assert made.code == 0, made.err + made.out
        return whole

    return build


@pytest.fixture(scope="session")
def engine_image() -> str:
    """The builder image; a container of it has been run."""
    from torchbuild.edges.engine import find_engine
    from torchbuild.errors import HostError

    name = os.environ.get("TORCHBUILD_TEST_IMAGE") or IMAGE
    try:
        engine = find_engine("auto")
    except HostError as error:
        impossible(f"{error.what}: {'; '.join(error.why)}")
    first = subprocess.run(
        [engine, "run", "--rm", "--network=none", "--pull=never", name, "/usr/bin/python3.13", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    if first.returncode != 0:
        how = (
            "torchbuild image recipes/debian/torch-2.6-cpu.toml makes it; .ci/podman.sh exec COMMAND may help"
        )
        impossible(f"{engine} runs nothing of {name} ({how}): {first.stderr[-400:]}")
    return name


@pytest.fixture
def alive() -> Callable[[str], list[int]]:
    """Processes of this machine whose environment holds a text."""

    def find(text: str) -> list[int]:
        return list(_holding(text.encode()))

    return find


def _holding(text: bytes) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            content = path.read_bytes()
        except OSError:  # it ended, or is somebody else's
            continue
        if text in content:
            yield int(path.parent.name)
