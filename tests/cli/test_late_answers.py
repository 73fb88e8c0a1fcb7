"""What a tree would fetch while it builds is pinned by commit when the lock is made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torchbuild.cli.late_answers import locked_late_sources
from torchbuild.cli.locking import world
from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.source_answers import SourceReader
from torchbuild.knowledge.tables import era_fact
from torchbuild.model.lock import LockedSubmodule
from torchbuild.resolve.asked import ask

COMPILERS = {"CC": "/usr/bin/gcc", "CXX": "/usr/bin/g++", "LAUNCHER": ""}
TREE = {
    "CMakeLists.txt": "".join(
        f'option({name} "" ON)\n' for name in ("USE_DISTRIBUTED", "USE_CUDA", "USE_NCCL")
    ),
    "pyproject.toml": "[build-system]\nrequires = []\n",
    ".ci/docker/ci_commit_pins/nccl.txt": "v2.28.9-1\n",
}


def repository(path: Path, files: dict[str, str], tag: str) -> str:
    """A repository with one commit; its id."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for argv in (
        ("init", "--quiet", "--template="),
        ("add", "."),
        (*who, "commit", "--quiet", "--message=one"),
        ("tag", tag),
    ):
        subprocess.run(["git", *argv], cwd=path, env=environ, check=True, capture_output=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=path, env=environ, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize("cuda", ["true", "false"])
def test_a_pinned_source_is_locked_by_commit_and_fetched(machine: Path, cuda: str) -> None:
    """The tag in the tree's pin file becomes a commit of the repository; what is not built is not fetched."""
    commit = repository(machine / "up" / "nccl.git", {"Makefile": "all:\n"}, "v2.28.9-1")
    repository(machine / "tree", TREE, "v2.9.1")
    recipe = machine / "here" / "small.toml"
    recipe.write_text(
        'schema = 1\nname = "small"\n[wheel]\npackage = "torch"\nversion = "2.9.1"\n'
        f'[source]\ngit = "{machine / "tree"}"\nref = "v2.9.1"\n[build]\nflags = {{ USE_CUDA = {cuda} }}\n'
        f'[machine.mirrors]\n"https://github.com/NVIDIA/" = "{machine / "up"}/"\n',
        encoding="utf-8",
    )
    wanted = read_recipe(recipe)
    there = world(wanted, places(), recipe.parent)
    answer = SourceReader(there).read(wanted)
    asked = ask(wanted, era_fact("setup-py"), answer.tree, COMPILERS, answer.epoch)

    found = locked_late_sources(wanted, answer, asked, there)

    nccl = LockedSubmodule(path="third_party/nccl", url="https://github.com/NVIDIA/nccl.git", commit=commit)
    assert found == ((nccl,) if cuda == "true" else ())
    assert (there.git.cached(nccl.url, nccl.commit) is not None) is (cuda == "true")
