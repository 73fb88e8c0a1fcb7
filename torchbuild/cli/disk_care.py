"""A build and the disk: it waits while there is too little space, and leaves no more behind than it may."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from torchbuild.errors import HostError
from torchbuild.model.byte_size import bytes_of
from torchbuild.report.events import Line, Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torchbuild.cli.places import Places
    from torchbuild.context import Executor, Reporter
    from torchbuild.edges.disk_watch import DiskWatch
    from torchbuild.edges.download import Downloader
    from torchbuild.model.recipe import Machine

__all__ = ["is_paused", "store_kept_below", "watch_disk"]

_MOST = 5


@runtime_checkable
class _Watched(Protocol):
    """What can be made to wait."""

    watch: DiskWatch | None


def watch_disk(
    executor: Executor | Downloader, machine: Machine, places: Places, workspace: Path, reporter: Reporter
) -> None:
    """Have what `executor` runs or fetches wait while less than ``machine.disk_floor`` is free.

    Args:
        executor: the one that starts the processes, or that transfers files.
        machine: the recipe's table.
        places: the caches.
        workspace: the run's directory.
        reporter: hears of each pause.
    """
    floor = bytes_of(machine.disk_floor)
    if floor <= 0 or not isinstance(executor, _Watched):
        return
    from torchbuild.edges.disk_watch import DiskWatch  # noqa: PLC0415  only where a build runs

    def tell(text: str, is_low: bool) -> None:  # noqa: FBT001  the watch's word
        event = Warned(stage="", reference="disk-low", text=text) if is_low else Line(stage="", text=text)
        reporter.emit(event)

    executor.watch = DiskWatch(
        (workspace, places.cache, places.store, places.compiler_cache),
        floor,
        patience_s=machine.disk_patience_s,
        taken=lambda: _taken(places, workspace),
    )
    executor.watch.report_to(tell)


def is_paused(executor: Executor | Downloader) -> bool:
    """Whether what it runs or fetches waits for space now."""
    watch = executor.watch if isinstance(executor, _Watched) else None
    return watch is not None and watch.is_paused


def _taken(places: Places, workspace: Path) -> tuple[str, ...]:
    """What could be removed, the largest first, each with the command that does it."""
    from torchbuild.edges.housekeeping import (  # noqa: PLC0415  only where a build ends of it
        tree_bytes,
        unpacked_images,
        workspaces,
    )
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    found = [
        (item.size, f"run {item.run}: torchbuild clean {item.run}")
        for item in workspaces(places.builds)
        if item.path != workspace and not item.is_busy
    ]
    stored = sum(item.size for item in DirectoryStore(places.store).entries())
    found.append((stored, "stored files: torchbuild store gc"))
    others = (*unpacked_images(places.roots), *places.caches)
    found += [(tree_bytes(path), f"{path}: torchbuild clean --cache") for path in others]
    largest = sorted(found, reverse=True)[:_MOST]
    return tuple(f"takes {size / 1e9:.1f} GB: {what}" for size, what in largest if size)


@contextlib.contextmanager
def store_kept_below(machine: Machine, places: Places, tell: Callable[[str], None]) -> Iterator[None]:
    """After a body that ended well, remove what is above ``machine.store_max``. No build fails of it.

    Args:
        machine: the recipe's table.
        places: where what was fetched lies, and the locks that are live.
        tell: hears what was removed.
    """
    yield
    if machine.store_max is None:
        return
    from torchbuild.edges.garbage import collect  # noqa: PLC0415  only where a limit is set

    try:
        done = collect(places.collectable(), most=bytes_of(machine.store_max))
    except HostError as error:
        tell(f"machine.store_max is not kept: {error.what}")
        return
    if done.removed:
        tell(f"store: removed {len(done.removed)} items, {done.freed / 1e6:.1f} MB, for machine.store_max")
