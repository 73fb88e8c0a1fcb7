"""How long sources take, from an empty cache to a tree: torchbuild against ``git clone --recursive``.

    .venv/bin/python benchmarks/sources.py [--latency-ms 50] [--rounds 3]

Both get the same 37 submodules, two deep, from the same server in the same run, in turn; every request waits
for the latency. Prints one line a round and the medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from git_farm import Farm, farm

from torchbuild.edges.git import GitEdge
from torchbuild.edges.manifest import tree_digest
from torchbuild.model.lock import LockedSubmodule


def _git(here: Farm, place: Path) -> None:
    """What everybody does."""
    environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "clone", "--quiet", "--recursive", here.url, str(place / "tree")]
    subprocess.run(argv, env=environ, check=True, capture_output=True)


def _build(here: Farm, place: Path, modules: tuple[LockedSubmodule, ...]) -> None:
    """What a build does with its lock: fetch, then lay the trees."""
    git, commit = GitEdge(place / "cache"), here.ids["main"]
    wanted = [(here.url, commit), *((item.url, item.commit) for item in modules)]
    git.fetch_commits(wanted, lambda _index: None)
    _lay(git, here, place / "tree", modules)


def _lock(here: Farm, place: Path) -> None:
    """What `torchbuild lock` does first: find out what the submodules are, and fetch them."""
    git = GitEdge(place / "cache")
    _, commit = git.locate(here.url, "main")
    git.locked_submodules(here.url, commit)


def _lay(git: GitEdge, here: Farm, tree: Path, modules: tuple[LockedSubmodule, ...]) -> None:
    todo = [LockedSubmodule(path=".", url=here.url, commit=here.ids["main"]), *modules]
    while todo:
        # each level lies inside the one before
        ready = [item for item in todo if not any(_is_inside(item, other) for other in todo)]
        places = [
            (git.cached(item.url, item.commit), item.commit, tree / item.path, item.url) for item in ready
        ]
        git.check_out_all([(bare, *rest) for bare, *rest in places if bare], lambda _index: None)  # type: ignore[misc]
        todo = [item for item in todo if item not in ready]


def _is_inside(item: LockedSubmodule, other: LockedSubmodule) -> bool:
    return item is not other and (other.path == "." or item.path.startswith(f"{other.path}/"))


def _timed(folder: Path, work: Callable[[Path], None]) -> tuple[float, Path]:
    place = Path(tempfile.mkdtemp(dir=folder))
    started = time.monotonic()
    work(place)
    return time.monotonic() - started, place


def _measure(here: Farm, folder: Path, rounds: int) -> dict[str, list[float]]:
    modules = GitEdge(folder / "first").locked_submodules(here.url, here.ids["main"])
    ways: dict[str, Callable[[Path], None]] = {
        "git": lambda place: _git(here, place),
        "build": lambda place: _build(here, place, modules),
        "lock": lambda place: _lock(here, place),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        digests = set()
        for name, work in ways.items():
            took, place = _timed(folder, work)
            seconds[name].append(took)
            if (place / "tree").exists():
                digests.add(tree_digest(place / "tree", without=(".git",)))
            shutil.rmtree(place)
        if len(digests) != 1:
            sys.exit("the two trees are not the same")
        print(
            f"round {number + 1}:", ", ".join(f"{name} {times[-1]:.2f} s" for name, times in seconds.items())
        )
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torchbuild-sources-") as name:
        folder = Path(name)
        with farm(folder / "farm", latency_s=asked.latency_ms / 1000) as here:
            seconds = _measure(here, folder, asked.rounds)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    print("median:", ", ".join(f"{name} {value:.2f} s" for name, value in median.items()))
    print(
        f"fetch and check out take {median['build'] / median['git']:.2f} of the time of git clone --recursive"
    )


if __name__ == "__main__":
    main()
