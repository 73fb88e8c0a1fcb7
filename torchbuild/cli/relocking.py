"""Writing a recipe's lock: made anew, or with what its last run found and nobody expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torchbuild.cli.locking import make_lock, world
from torchbuild.cli.places import Places, places
from torchbuild.cli.recipe_files import read_lock, stale_lock, write_lock
from torchbuild.cli.running import run_name
from torchbuild.edges.mounts import Mounts
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.adopted import adopt, keep_adopted
from torchbuild.resolve.orders import GATE, gate_findings

__all__ = ["adopted_lock", "new_lock"]


def new_lock(
    recipe: Path,
    wanted: Recipe,
    path: Path,
    *,
    allowed: tuple[Path, ...],
    tell: Callable[[str], None],
) -> tuple[Lock | None, Lock]:
    """The lock that was at `path`, or None, and the one that is now. What was adopted before is kept."""
    before = stale_lock(path)
    there = world(wanted, places(), recipe.absolute().parent, allowed)
    made = keep_adopted(before, make_lock(wanted, there, tell))
    write_lock(path, made)
    return before, made


def adopted_lock(recipe: Path, wanted: Recipe, path: Path, *, is_dev: bool = False) -> tuple[Lock, Lock]:
    """The lock as it was, and with the options that its own run found.

    Args:
        recipe: the recipe's file.
        wanted: what is in it.
        path: its lock.
        is_dev: whether it is a lock of ``build --dev``, which has another workspace.

    Raises:
        LockError: the lock is missing or stale.
        UsageError: ``nothing-to-adopt``: there is no such run, or its gate met nothing new.
    """
    before = read_lock(path, wanted, recipe.absolute().parent)
    made = _from_run(before, places(), is_dev=is_dev)
    write_lock(path, made)
    return before, made


def _from_run(lock: Lock, here: Places, *, is_dev: bool) -> Lock:
    run = run_name(lock, is_dev=is_dev)
    mounts = Mounts(root=here.builds / run / "root", store=here.store, cache=here.compiler_cache)
    gate = mounts.outside(GATE)
    text = gate.read_text(encoding="utf-8", errors="replace") if gate.is_file() else None
    return adopt(lock, gate_findings(text) or (), run)
