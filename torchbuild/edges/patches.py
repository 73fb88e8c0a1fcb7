"""Applying one patch to a tree, strictly, wherever the tree lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from torchbuild.edges.git_command import local_git
from torchbuild.errors import StageError

__all__ = ["apply"]

_STRIP = "-p1"
"""A patch's paths begin with the name of a side, as git and quilt write them."""


def apply(tree: Path, patch: Path, *, only: Sequence[str] = ()) -> None:
    """Apply all of `patch` to `tree`, or nothing of it.

    Args:
        tree: directory that the patch's paths are relative to, with a ``.git`` of its own or without.
        patch: a unified or git diff.
        only: paths of the tree; what the patch changes elsewhere is left aside. None: all of it.

    Raises:
        StageError: ``patch-does-not-apply``.
        HostError: ``git-missing``.
    """
    tree, patch = tree.resolve(), patch.resolve()
    said = _refusal(tree, patch, only)
    if said is None:
        return
    raise StageError(
        "patch-does-not-apply",
        f"{patch.name}: does not apply to the source tree",
        why=said or ("git gave no reason",),
        fix=f"Change the patch so that it fits this source; try it in the tree:"
        f" git apply --check {_STRIP} {quote(str(patch))}",
    )


def _literal(path: str) -> str:
    """A pattern that means this path alone."""
    return re.sub(r"([\\*?\[])", r"\\\1", path)


def _refusal(tree: Path, patch: Path, only: Sequence[str]) -> tuple[str, ...] | None:
    """None where it applied, else git's words. Nothing is changed in that case."""
    # Inside another repository's work tree git skips every file without a word, and ends with 0. The ceiling
    # hides repositories above the tree; the words are read all the same, as a ceiling cannot hold a colon.
    chosen = [f"--include={_literal(path)}" for path in only]
    arguments = ["apply", "--verbose", "--whitespace=nowarn", _STRIP, *chosen]
    checked = local_git([*arguments, "--check", str(patch)], cwd=tree, ceiling=tree.parent)
    lines = tuple(line for line in checked.err.splitlines() if not line.startswith("Checking patch"))
    skipped = {line for line in lines if line.startswith("Skipped patch")}
    if checked.status or (skipped if not only else skipped & {f"Skipped patch '{path}'." for path in only}):
        return lines
    ended = local_git([*arguments, str(patch)], cwd=tree, ceiling=tree.parent)
    return tuple(ended.err.splitlines()) if ended.status else None
