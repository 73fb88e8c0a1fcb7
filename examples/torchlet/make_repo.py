"""Make the git repositories of torchlet: DEST/nanofmt, and DEST/torchlet which has it as submodule.

Standard library and git only. The commit ids are the same on every machine and in every run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["main", "make_repos"]

HERE = Path(__file__).resolve().parent
SUBMODULE = "third_party/nanofmt"
GITMODULES = f"""\
[submodule "{SUBMODULE}"]
\tpath = {SUBMODULE}
\turl = ../nanofmt
"""


def git_environment() -> dict[str, str]:
    """Return the environment in which git does the same for everyone."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = {"NAME": "torchlet", "EMAIL": "torchlet@example.invalid"}
    authors = {f"GIT_AUTHOR_{key}": value for key, value in person.items()}
    committers = {f"GIT_COMMITTER_{key}": value for key, value in person.items()}
    no_config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return inherited | authors | committers | no_config | {"LC_ALL": "C", "TZ": "UTC"}


def git(repo: Path, *arguments: str, date: str = "") -> str:
    """Run git in a repository and return what it printed."""
    dates = {f"GIT_{role}_DATE": date for role in ("AUTHOR", "COMMITTER")} if date else {}
    # fileMode: a copy may have lost or gained the executable bit, and the commit ids must not.
    options = ["-c", "protocol.file.allow=always", "-c", "core.fileMode=false"]
    answer = subprocess.run(
        ["git", *options, "-C", str(repo), *arguments],
        check=True,
        env=git_environment() | dates,
        stdout=subprocess.PIPE,
        text=True,
    )
    return answer.stdout.strip()


def start(repo: Path) -> None:
    """Make an empty repository with none of the machine's hooks."""
    repo.mkdir()
    git(repo, "init", "--quiet", "--template=", "--initial-branch=main", "--object-format=sha1")


def lay(repo: Path, *sources: Path) -> None:
    """Make the working tree of a repository the union of some folders."""
    for entry in repo.iterdir():
        if entry.is_dir() and entry.name != ".git":
            shutil.rmtree(entry)
        elif entry.is_file():
            entry.unlink()
    ignore = shutil.ignore_patterns("__pycache__")
    for source in sources:
        shutil.copytree(source, repo, dirs_exist_ok=True, ignore=ignore)


def add(repo: Path) -> None:
    """Put the working tree into the index, every file by its content.

    git takes a file for unchanged whose size, times in seconds and inode are what they were, and a
    version.txt of the same length, laid in the same second under a reused inode, is just that.
    """
    git(repo, "read-tree", "--empty")
    git(repo, "add", "--all")


def commit(repo: Path, message: str, date: str) -> str:
    """Record the working tree and return the commit's id."""
    git(repo, "commit", "--quiet", f"--message={message}", date=date)
    return git(repo, "rev-parse", "HEAD")


def make_nanofmt(repo: Path) -> str:
    """Make the submodule's repository and return its commit."""
    start(repo)
    lay(repo, HERE / "nanofmt")
    add(repo)
    return commit(repo, "Format text by position", "2024-01-01T00:00:00+00:00")


def stage(repo: Path, era: str, nanofmt: str) -> None:
    """Put one era's tree into the index, with the submodule at a commit."""
    lay(repo, HERE / "tree", HERE / "eras" / era)
    (repo / ".gitmodules").write_text(GITMODULES, encoding="utf-8")
    add(repo)
    # By id: a clone to read it from would leave this machine's paths in the repository.
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{nanofmt},{SUBMODULE}")
    (repo / SUBMODULE).mkdir(parents=True)


def make_torchlet(repo: Path, nanofmt: str) -> dict[str, str]:
    """Make the project's repository and return the commits of its tags."""
    start(repo)
    stage(repo, "setup-py", nanofmt)
    first_date = "2024-02-01T00:00:00+00:00"
    first = commit(repo, "Build with setup.py", first_date)
    # One tag of each kind, since a tool that reads tags meets both.
    git(repo, "tag", "--annotate", "--message=torchlet 1.0.0", "v1.0.0", date=first_date)
    stage(repo, "scikit-build-core", nanofmt)
    second = commit(repo, "Build with scikit-build-core", "2024-03-01T00:00:00+00:00")
    git(repo, "tag", "v2.0.0")
    return {"v1.0.0": first, "v2.0.0": second}


def make_both(destination: Path) -> dict[str, str]:
    """Make both repositories in an empty folder and return their commits by name."""
    nanofmt = make_nanofmt(destination / "nanofmt")
    return {"nanofmt": nanofmt, **make_torchlet(destination / "torchlet", nanofmt)}


def commits_in(destination: Path) -> dict[str, str]:
    """Return the commits of repositories that an earlier run made."""
    names = {"nanofmt": "main", "torchlet": "v1.0.0 v2.0.0"}
    revisions = [(repo, name) for repo, listed in names.items() for name in listed.split()]
    return {
        repo if name == "main" else name: git(
            destination / repo, "rev-parse", "--verify", f"{name}^{{commit}}"
        )
        for repo, name in revisions
    }


def make_repos(destination: Path) -> Mapping[str, str]:
    """Make both repositories, or keep those of an earlier run, and return their commits."""
    destination.mkdir(parents=True, exist_ok=True)
    # Made beside their place and then moved, so a run that is ended leaves nothing half-made.
    with tempfile.TemporaryDirectory(prefix=".torchlet-", dir=destination) as scratch:
        commits = make_both(Path(scratch))
        for name in ("nanofmt", "torchlet"):
            if not (destination / name).exists():
                (Path(scratch) / name).rename(destination / name)
    if commits_in(destination) != commits:
        sys.exit(f"{destination} holds other repositories; remove nanofmt and torchlet there")
    return commits


def main() -> None:
    """Make the repositories and print where they are and what they hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("destination", metavar="DEST", type=Path)
    parser.add_argument("--print-json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    destination = options.destination.resolve()
    commits = make_repos(destination)
    paths = {name: str(destination / name) for name in ("nanofmt", "torchlet")}
    if options.print_json:
        print(json.dumps({"paths": paths, "commits": commits}, indent=2))
        return
    for name, text in (*paths.items(), *((f"{name} commit", id_) for name, id_ in commits.items())):
        print(f"{name}: {text}")


if __name__ == "__main__":
    main()
