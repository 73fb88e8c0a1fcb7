"""Writing a recipe's lock: made anew, or with what its last run found and nobody expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torchbuild.cli.locking import make_lock, world
from torchbuild.cli.places import Places, places
from torchbuild.cli.recipe_files import lock_path, lock_to_write, read_lock, stale_lock, write_lock
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
    lock: Path | None,
    overrides: tuple[str, ...],
    *,
    allowed: tuple[Path, ...],
    tell: Callable[[str], None],
) -> tuple[Lock | None, Lock]:
    """The lock that was there, or None, and the one that is there now. What was adopted before is kept."""
    path = lock_to_write(recipe, lock, overrides)
    before = stale_lock(path)
    there = world(wanted, places(), recipe.absolute().parent, allowed)
    made = keep_adopted(before, make_lock(wanted, there, tell))
    write_lock(path, made)
    return before, made


def adopted_lock(
    recipe: Path, wanted: Recipe, lock: Path | None, overrides: tuple[str, ...]
) -> tuple[Lock, Lock]:
    """The lock as it was, and with the options that its own run found.

    Raises:
        LockError: the lock is missing or stale.
        UsageError: ``nothing-to-adopt``: there is no such run, or its gate met nothing new.
    """
    before = read_lock(lock or lock_path(recipe), wanted, recipe.absolute().parent)
    made = _from_run(before, places())
    write_lock(lock_to_write(recipe, lock, overrides), made)
    return before, made


def _from_run(lock: Lock, here: Places) -> Lock:
    run = run_name(lock)
    mounts = Mounts(root=here.builds / run / "root", store=here.store, cache=here.compiler_cache)
    gate = mounts.outside(GATE)
    text = gate.read_text(encoding="utf-8", errors="replace") if gate.is_file() else None
    return adopt(lock, gate_findings(text) or (), run)
