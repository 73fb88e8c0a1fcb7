"""The bare repositories that all builds share: where one lies, what it holds, how it is known to be whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated, write_text
from torchbuild.edges.git_command import local_git
from torchbuild.edges.git_failures import failure
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError

if TYPE_CHECKING:
    from pathlib import Path

    from torchbuild.edges.git_command import Running

__all__ = ["bare_of", "cached", "drop_leftovers", "has_mark", "is_whole", "make", "mark", "note_whole"]

_SETTINGS = """\
[uploadpack]
\tallowAnySHA1InWant = true
[transfer]
\tunpackLimit = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
"""It gives any commit to whoever asks on this machine, keeps what comes as packs, and never tidies up."""


def bare_of(cache: Path, url: str) -> Path:
    """Where the commits of an address lie; a new token finds what the old one fetched.

    Args:
        cache: the directory of all bare repositories.
        url: the address, with credentials or without.
    """
    return cache / f"{hashlib.sha256(without_credentials(url).encode()).hexdigest()[:20]}.git"


def mark(commit: str) -> str:
    """The ref that keeps a commit from being collected. Git sets it only once all objects are there."""
    return f"refs/torchbuild/{commit}"


def has_mark(bare: Path, commit: str) -> bool:
    """Whether the commit was fetched into this repository once.

    Read as git stores it, without git: forty submodules would be forty processes.
    """
    if (bare / mark(commit)).is_file():
        return True
    try:
        packed = (bare / "packed-refs").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(row.endswith(f" {mark(commit)}") for row in packed.splitlines())


def is_whole(bare: Path, commit: str, running: Running | None = None) -> bool:
    """Whether the commit's tree is here, each file of it: git walks all of it, and counts in `running`."""
    if not has_mark(bare, commit):
        return False
    walk = ["rev-list", "--objects", "--no-walk", "--quiet", f"{commit}^{{commit}}"]
    return local_git(walk, cwd=bare, running=running).status == 0


def cached(bare: Path, commit: str) -> bool:
    """Whether the commit is here, by the packs that were there when it was last found whole.

    A few looks at the file system; git is only asked where the packs are others by now.
    """
    try:
        noted = json.loads(_note(bare, commit).read_text(encoding="utf-8"))
        if noted and all((bare / name).stat().st_size == size for name, size in noted.items()):
            _note_use(bare)
            return True
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    if not is_whole(bare, commit):
        return False
    note_whole(bare, commit)
    return True


def note_whole(bare: Path, commit: str) -> None:
    """Say that the commit was just found whole, and in which files."""
    with translated(bare):
        packs = [path for path in (bare / "objects" / "pack").glob("*") if path.suffix in {".pack", ".idx"}]
        sizes = {path.relative_to(bare).as_posix(): path.stat().st_size for path in sorted(packs)}
    write_text(_note(bare, commit), json.dumps(sizes))
    _note_use(bare)


def _note_use(bare: Path) -> None:
    """The time of the directory is its last use, by which `torchbuild.edges.garbage` goes."""
    with contextlib.suppress(OSError):  # a cache that may only be read still serves
        os.utime(bare)


def _note(bare: Path, commit: str) -> Path:
    return bare / "torchbuild" / f"{commit}.json"


def make(bare: Path) -> None:
    """An empty bare repository, where there is none yet.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``git-missing``.
    """
    config = bare / "config"
    if (bare / "HEAD").exists() and _SETTINGS in (config.read_text() if config.exists() else ""):
        return
    with translated(bare):
        bare.mkdir(parents=True, exist_ok=True)
    ended = local_git(["init", "--quiet", "--bare", "--template=", str(bare)], cwd=bare.parent)
    if ended.status:
        known = failure(ended.err, str(bare), "make a repository of the cache")
        raise known.error if isinstance(known, PassingError) else known
    with translated(config):
        text = config.read_text(encoding="utf-8")
    write_text(config, text + _SETTINGS)


def drop_leftovers(bare: Path) -> None:
    """Remove what a killed git left: its locks would stop every git after it. The caller holds ours."""
    left = [*bare.glob("*.lock"), *bare.glob("refs/**/*.lock"), *bare.glob("objects/pack/tmp_*")]
    for path in left:
        with translated(path):
            path.unlink(missing_ok=True)
