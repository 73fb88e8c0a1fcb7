"""Memory, processors and limits of this process: the machine's, and what its control groups leave of them."""

from __future__ import annotations

import math
import os
import resource
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.edges.host_files import HostFiles

__all__ = ["Memory", "cores_of", "group_folders", "limits_of", "meminfo", "memory_of", "quota_told"]

_NO_LIMIT = 1 << 60
"""From here on a number is version 1's way to say that there is none."""
_KIB = 1024
_LIMITS = {
    "open files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "file size": resource.RLIMIT_FSIZE,
    "memory": resource.RLIMIT_AS,
}


class Memory(NamedTuple):
    """As in `torchbuild.model.host.Host`, in bytes."""

    memory: int | None = None
    limit: int | None = None
    available: int | None = None
    swap: int | None = None


class _Group(NamedTuple):
    """A control group's directory, and the version of the interface in it."""

    folder: str
    is_first: bool


def meminfo(text: str) -> dict[str, int]:
    """Bytes by name."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number = value.split()[:1]
        if number and number[0].isdecimal():
            found[name] = int(number[0]) * _KIB
    return found


def memory_of(files: HostFiles) -> Memory:
    """The machine's memory and the smallest limit of our groups.

    Raises:
        OSError: the kernel's files cannot be read.
    """
    told = meminfo(files.text("/proc/meminfo"))
    limit: int | None = None
    rooms = [told["MemAvailable"]] if "MemAvailable" in told else []
    for group in _groups(files, "memory"):
        own = _limit(files, group)
        if own is not None:
            limit = own if limit is None else min(limit, own)
            rooms.append(max(0, own - _used(files, group)))
    return Memory(told.get("MemTotal"), limit, min(rooms, default=None), told.get("SwapFree"))


def _limit(files: HostFiles, group: _Group) -> int | None:
    names = ("memory.limit_in_bytes",) if group.is_first else ("memory.max", "memory.high")
    numbers = [_number(files, f"{group.folder}/{name}") for name in names]
    return min((number for number in numbers if number is not None and number < _NO_LIMIT), default=None)


def _used(files: HostFiles, group: _Group) -> int:
    """What is in use and not a mere cache that the kernel gives back."""
    used, cache = (
        ("memory.usage_in_bytes", "total_inactive_file")
        if group.is_first
        else ("memory.current", "inactive_file")
    )
    words = [line.split() for line in files.text(f"{group.folder}/memory.stat").splitlines()]
    given_back = next((int(line[1]) for line in words if line[:1] == [cache] and line[1].isdecimal()), 0)
    return max(0, (_number(files, f"{group.folder}/{used}") or 0) - given_back)


def _number(files: HostFiles, path: str) -> int | None:
    """A file's only number; None for ``max``, ``-1`` and no file."""
    text = files.text(path).strip()
    return int(text) if text.isdecimal() else None


def cores_of(files: HostFiles) -> int:
    """Processors that this process may use: those it may run on, and the time that its groups get.

    Raises:
        OSError: the kernel's files cannot be read.
    """
    quotas = [_quota(files, group) for group in _groups(files, "cpu")]
    mine = len(os.sched_getaffinity(0))
    return min([mine, *(max(1, math.ceil(quota)) for quota in quotas if quota is not None)])


def _quota(files: HostFiles, group: _Group) -> float | None:
    if group.is_first:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        return quota_told(" ".join(files.text(f"{group.folder}/{name}").strip() for name in names))
    return quota_told(files.text(f"{group.folder}/cpu.max"))


def quota_told(text: str) -> float | None:
    """Processors in ``150000 100000``; None for ``max 100000``, ``-1 100000`` and anything else."""
    words = text.split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:  # noqa: PLR2004
        return None
    return int(words[0]) / int(words[1])


def _groups(files: HostFiles, controller: str) -> Iterator[_Group]:
    cgroup, mounts = files.text("/proc/self/cgroup"), files.text("/proc/self/mountinfo")
    for folder, is_first in group_folders(cgroup, mounts, controller):
        yield _Group(folder, is_first)


def group_folders(cgroup: str, mountinfo: str, controller: str) -> tuple[tuple[str, bool], ...]:
    """Directories of our group and of all above it that we can see, each with whether it is version 1's.

    Args:
        cgroup: text of ``/proc/self/cgroup``.
        mountinfo: text of ``/proc/self/mountinfo``.
        controller: ``memory`` or ``cpu``.
    """
    own = dict.fromkeys(_own_paths(cgroup, controller))
    found: list[tuple[str, bool]] = []
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        words, kinds = fields.split(" "), rest.split(" ")
        is_first = kinds[0] == "cgroup" and controller in kinds[-1].split(",")
        if not is_first and kinds[0] != "cgroup2":
            continue
        root, point = words[3], words[4]
        for path, is_of_first in own:
            if is_first == is_of_first:
                found += [(folder, is_first) for folder in _upwards(point, root, path)]
    return tuple(dict.fromkeys(found))


def _own_paths(cgroup: str, controller: str) -> Iterator[tuple[str, bool]]:
    for line in cgroup.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            yield path, True
        elif not controllers and path:
            yield path, False


def _upwards(point: str, root: str, path: str) -> Iterator[str]:
    """From our group up to the mount; one that shows another part of the tree shows its own root alone."""
    prefix = root.rstrip("/")
    below = path[len(prefix) :] if f"{path}/".startswith(f"{prefix}/") else ""
    words = [word for word in below.split("/") if word not in {"", "..", "."}]
    for end in range(len(words), -1, -1):
        yield "/".join([point.rstrip("/"), *words[:end]])


def limits_of() -> dict[str, int]:
    """Soft limits that are set."""
    found = {name: resource.getrlimit(number)[0] for name, number in _LIMITS.items()}
    return {name: limit for name, limit in found.items() if limit != resource.RLIM_INFINITY}
