"""A commit laid down as a source tree that needs nothing outside itself and is the same on each machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import remove_tree, temp_beside, translated
from torchbuild.edges.git_command import local_git
from torchbuild.edges.git_failures import failure, words
from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError, HostError, StageError

if TYPE_CHECKING:
    from torchbuild.edges.git_command import Running

__all__ = ["check_out", "commit_time", "one_line"]


_GIVER = "--upload-pack=git -c 'safe.directory=*' upload-pack"
"""The other half of a fetch. The cache may be another user's: what it gives is named by its digest."""


_SETTINGS = """\
[core]
\tlogAllRefUpdates = false
\thooksPath = /dev/null
\tautocrlf = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
"""A reflog would hold this machine's name and clock; hooks and tidying are for people."""


def one_line(arguments: list[str], bare: Path, commit: str) -> str:
    """What git answers about a commit of the cache.

    Raises:
        FetchError: ``git-object-missing``.
    """
    ended = local_git(arguments, cwd=bare)
    if ended.status:
        raise FetchError(
            "git-object-missing",
            f"{bare.name}: the cache does not hold commit {commit}",
            why=words(ended.err),
            fix="Run torchbuild lock again: it fetches what is missing.",
        )
    return ended.out.decode(errors="replace").strip()


def commit_time(bare: Path, commit: str) -> int:
    """When the commit was made, in seconds since the epoch.

    Raises:
        FetchError: ``git-object-missing``.
    """
    return int(one_line(["show", "--no-patch", "--format=%ct", f"{commit}^{{commit}}"], bare, commit))


def check_out(bare: Path, commit: str, destination: Path, url: str, running: Running | None = None) -> None:
    """Lay down the commit with a ``.git`` directory of its own that holds just this commit.

    Every file has the commit's time, LFS pointers stay pointers, hooks do not run, submodules are empty
    directories. The tree gets its name only when it is finished.

    Args:
        bare: repository of the cache that holds the commit.
        commit: 40 hexadecimal digits.
        destination: does not exist, or is an empty directory.
        url: recorded as the origin, without credentials.
        running: where each git counts while it runs.

    Raises:
        FetchError: ``git-object-missing``.
        StageError: ``checkout-in-the-way``, ``checkout-failed``.
        HostError: ``disk-full``, ``not-writable``.
    """
    seconds = commit_time(bare, commit)
    with translated(destination):
        if destination.is_symlink() or (destination.exists() and not _is_empty(destination)):
            raise StageError(
                "checkout-in-the-way",
                f"{destination}: something is there already",
                why=("wanted: no such path, or an empty directory",),
                fix=f"Remove it, then run the same command again: rm -r {destination}",
            )
        destination.parent.mkdir(parents=True, exist_ok=True)
    temp = temp_beside(destination)
    try:
        _lay_down(bare.resolve(), commit, temp, without_credentials(url), running)
        with translated(destination):
            _set_times(temp, seconds)
            _git(["update-index", "-q", "--really-refresh"], temp, commit, running)
            os.utime(temp / ".git", (seconds, seconds))
            temp.rename(destination)
    except BaseException:
        remove_tree(temp)
        raise


def _is_empty(directory: Path) -> bool:
    return directory.is_dir() and next(directory.iterdir(), None) is None


def _lay_down(bare: Path, commit: str, tree: Path, url: str, running: Running | None) -> None:
    _git(["init", "--quiet", "--template=", str(tree)], tree.parent, commit, running)
    config = tree / ".git" / "config"
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    with translated(config):
        config.write_text(f'{config.read_text()}{_SETTINGS}[remote "origin"]\n\turl = "{quoted}"\n')
    fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"]
    _git([*fetch, _GIVER, "--", str(bare), commit], tree, commit, running)
    lay = ["checkout", "--quiet", "--force", "--no-recurse-submodules", "--detach", commit]
    _git(lay, tree, commit, running)


def _git(arguments: list[str], cwd: Path, commit: str, running: Running | None) -> None:
    ended = local_git(arguments, cwd=cwd, running=running)
    if not ended.status:
        return
    known = failure(ended.err, str(cwd), f"check out {commit}")
    if isinstance(known, HostError):
        raise known
    raise StageError(
        "checkout-failed",
        f"commit {commit} could not be checked out",
        why=words(ended.err),
        fix="Remove the repository from the cache, then run the same command again.",
    )


def _set_times(tree: Path, seconds: int) -> None:
    """Give everything the same time, directories last: their times change while their content does."""
    for directory, _, files in os.walk(tree, topdown=False):
        for name in (*files, "."):
            os.utime(Path(directory, name), (seconds, seconds), follow_symlinks=False)
        # Links to directories are listed as directories, and not walked into.
        for entry in os.scandir(directory):
            if entry.is_symlink():
                os.utime(entry.path, (seconds, seconds), follow_symlinks=False)
