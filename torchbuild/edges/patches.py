"""Applying one patch to a tree, strictly, wherever the tree lies."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from torchbuild.edges.git_command import local_git
from torchbuild.errors import HostError, StageError

__all__ = ["apply"]

_FUZZ = 2


def apply(
    tree: Path, patch: Path, *, strip: int = 1, fuzz: bool = False, only: Sequence[str] = ()
) -> tuple[str, ...]:
    """Apply all of `patch` to `tree`, or nothing of it.

    Args:
        tree: directory that the patch's paths are relative to, with a ``.git`` of its own or without.
        patch: a unified or git diff.
        strip: leading components of its paths to remove.
        fuzz: whether up to two lines of context may differ where git's strict way fails.
        only: paths of the tree; what the patch changes elsewhere is left aside. None: all of it.

    Returns:
        What a report must say: empty where it applied strictly, else the tool's lines about offsets and fuzz.

    Raises:
        StageError: ``patch-does-not-apply``.
        HostError: ``git-missing``, ``patch-missing``.
    """
    tree, patch = tree.resolve(), patch.resolve()
    said = _strictly(tree, patch, strip, only)
    if said is None:
        return ()
    if fuzz:
        lines = _loosely(tree, patch, strip)
        if lines is not None:
            return lines
    raise StageError(
        "patch-does-not-apply",
        f"{patch.name}: does not apply to the source tree",
        why=said or ("git gave no reason",),
        fix=f"Change the patch so that it fits this source; try it in the tree:"
        f" git apply --check -p{strip} {quote(str(patch))}",
    )


def _literal(path: str) -> str:
    """A pattern that means this path alone."""
    return re.sub(r"([\\*?\[])", r"\\\1", path)


def _strictly(tree: Path, patch: Path, strip: int, only: Sequence[str]) -> tuple[str, ...] | None:
    """None where it applied, else git's words. Nothing is changed in that case."""
    # Inside another repository's work tree git skips every file without a word, and ends with 0. The ceiling
    # hides repositories above the tree; the words are read all the same, as a ceiling cannot hold a colon.
    chosen = [f"--include={_literal(path)}" for path in only]
    arguments = ["apply", "--verbose", "--whitespace=nowarn", f"-p{strip}", *chosen]
    checked = local_git([*arguments, "--check", str(patch)], cwd=tree, ceiling=tree.parent)
    lines = tuple(line for line in checked.err.splitlines() if not line.startswith("Checking patch"))
    skipped = {line for line in lines if line.startswith("Skipped patch")}
    if checked.status or (skipped if not only else skipped & {f"Skipped patch '{path}'." for path in only}):
        return lines
    ended = local_git([*arguments, str(patch)], cwd=tree, ceiling=tree.parent)
    return tuple(ended.err.splitlines()) if ended.status else None


def _loosely(tree: Path, patch: Path, strip: int) -> tuple[str, ...] | None:
    """The lines of `patch` that tell of offset and fuzz; None where it cannot be applied even so."""
    arguments = [f"-p{strip}", f"--fuzz={_FUZZ}", "--batch", "--forward", "--no-backup-if-mismatch", "-r-"]
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    lines: tuple[str, ...] = ()
    for mode in (["--dry-run"], []):
        try:
            ended = subprocess.run(
                ["patch", *arguments, *mode, "-d", str(tree), "-i", str(patch)],  # noqa: S607  found on PATH
                env=environ,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                umask=0o022,
                check=False,
            )
        except OSError as error:
            raise HostError(
                "patch-missing",
                "the program patch cannot be started",
                why=(f"seen: {error}", "wanted: patch on PATH, for patches that may apply with fuzz"),
                fix="Install it: apt-get install patch, or dnf install patch.",
            ) from error
        if ended.returncode:
            return None
        lines = tuple(line for line in ended.stdout.splitlines() if "fuzz" in line or "offset" in line)
    return lines
