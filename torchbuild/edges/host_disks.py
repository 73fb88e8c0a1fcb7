"""The places that a build writes to: what is free, what the file system allows. Nothing is written there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.model.host import Disk

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mount", "disk_blank", "look_at_disk", "mount_of", "mounts_in", "nearest"]


class Mount(NamedTuple):
    """One file system in the tree."""

    point: str
    kind: str
    options: frozenset[str]
    device: str


def look_at_disk(role: str, wanted: Path) -> Disk:
    """What a directory, or the nearest one above it, allows.

    Raises:
        OSError: it cannot be looked at.
    """
    place = nearest(wanted)
    mount = mount_of(str(place), mounts_in(Path("/proc/self/mountinfo").read_text(errors="replace")))
    space = os.statvfs(place)
    obstacle = _obstacle(wanted)
    is_writable = not obstacle and os.access(place, os.W_OK | os.X_OK) and not space.f_flag & os.ST_RDONLY
    return Disk(
        role=role,
        path=str(place),
        free=space.f_bavail * space.f_frsize,
        inodes=space.f_favail if space.f_files else None,
        kind=mount.kind,
        is_writable=is_writable,
        is_noexec=bool(space.f_flag & os.ST_NOEXEC) or "noexec" in mount.options,
        device=mount.device or str(place.stat().st_dev),
        wanted="" if place == Path(os.path.realpath(wanted)) else str(wanted),
        obstacle=obstacle,
    )


def disk_blank(role: str, wanted: Path) -> Disk:
    """One of which nothing could be seen."""
    return Disk(
        role=role, path=str(wanted), free=None, inodes=None, kind="", is_writable=False, is_noexec=False
    )


def nearest(wanted: Path) -> Path:
    """The directory, links followed, or the nearest one above it that exists."""
    place = Path(os.path.realpath(wanted))
    while not _is_directory(place) and place != place.parent:
        place = place.parent
    return place


def _obstacle(wanted: Path) -> str:
    """The nearest thing above it, or itself, that is there and is no directory; empty for none."""
    place = Path(os.path.realpath(wanted))
    there = next((path for path in (place, *place.parents) if os.path.lexists(path)), place)
    return str(there) if os.path.lexists(there) and not _is_directory(there) else ""


def _is_directory(place: Path) -> bool:
    return os.path.isdir(place)  # noqa: PTH112  the other raises where it may not look


def mounts_in(text: str) -> tuple[Mount, ...]:
    """The lines of a mountinfo, in order; what is no such line is passed over."""
    found = []
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        words, kinds = fields.split(" "), rest.split(" ")
        if len(words) < 6 or len(kinds) < 3:  # noqa: PLR2004  columns of the kernel's table
            continue
        options = {*words[5].split(","), *kinds[2].split(",")}
        found.append(Mount(_plain(words[4]), kinds[0], frozenset(options), words[2]))
    return tuple(found)


def _plain(text: str) -> str:
    r"""A path as it is; the kernel writes blanks and backslashes as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount:
    """The one that a path lies on: the deepest, and of those the last."""
    best = Mount("", "", frozenset(), "")
    for mount in mounts:
        is_above = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if is_above and len(mount.point) >= len(best.point):
            best = mount
    return best
