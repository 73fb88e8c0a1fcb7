"""What a tree would fetch while it builds is pinned by commit when the lock is made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

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


def git(path: Path, *arguments: str) -> str:
    """What git says in a repository, as nobody in particular."""
    environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    argv = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
    done = subprocess.run(argv, cwd=path, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(path: Path, files: dict[str, str], tag: str) -> str:
    """A repository with one commit; its id."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    git(path, "init", "--quiet", "--template=")
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message=one")
    git(path, "tag", tag)
    return git(path, "rev-parse", "HEAD")


def read(machine: Path, cuda: str) -> tuple[Any, ...]:
    """The recipe, its world, and what was found in its tree and asked of it."""
    recipe = machine / "here" / "small.toml"
    tables = {
        "true": '[cuda]\nversion = "12.8.1"\narchs = ["9.0"]\n[nccl]\nfrom = "bundled"\n',
        "false": "[build]\nflags = { USE_CUDA = false }\n",
    }
    recipe.write_text(
        'schema = 1\nname = "small"\n[wheel]\npackage = "torch"\nversion = "2.9.1"\n'
        f'[source]\ngit = "{machine / "tree"}"\nref = "v2.9.1"\n{tables[cuda]}'
        f'[machine.mirrors]\n"https://github.com/NVIDIA/" = "{machine / "up"}/"\n',
        encoding="utf-8",
    )
    wanted = read_recipe(recipe)
    there = world(wanted, places(), recipe.parent)
    answer = SourceReader(there).read(wanted)
    return wanted, there, answer, ask(wanted, era_fact("setup-py"), answer.tree, COMPILERS, answer.epoch)


@pytest.mark.parametrize("cuda", ["true", "false"])
def test_a_pinned_source_is_locked_by_commit_and_fetched(machine: Path, cuda: str) -> None:
    """The tag in the tree's pin file becomes a commit of the repository; what is not built is not fetched."""
    commit = repository(machine / "up" / "nccl.git", {"Makefile": "all:\n"}, "v2.28.9-1")
    repository(machine / "tree", TREE, "v2.9.1")
    wanted, there, answer, asked = read(machine, cuda)

    found = locked_late_sources(wanted, answer, asked, there)

    nccl = LockedSubmodule(path="third_party/nccl", url="https://github.com/NVIDIA/nccl.git", commit=commit)
    assert found == ((nccl,) if cuda == "true" else ())
    assert (there.git.cached(nccl.url, nccl.commit) is not None) is (cuda == "true")


def test_a_tag_of_a_bundle_is_followed_to_its_commit(machine: Path) -> None:
    """A bundle does not say what an annotated tag stands for; the lock holds a commit all the same."""
    commit = repository(machine / "plain", {"Makefile": "all:\n"}, "light")
    git(machine / "plain", "tag", "-a", "v2.28.9-1", "-m", "annotated")
    (machine / "up").mkdir()
    git(machine / "plain", "bundle", "create", "--quiet", str(machine / "up" / "nccl.git"), "--all")
    repository(machine / "tree", TREE, "v2.9.1")
    wanted, there, answer, asked = read(machine, "true")

    (nccl,) = locked_late_sources(wanted, answer, asked, there)

    assert nccl.commit == commit
    assert there.git.cached(nccl.url, commit) is not None
