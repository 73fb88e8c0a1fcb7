"""Memory, processors and limits of this process: the machine's, and what its control groups leave of them."""

from __future__ import annotations

import math
import os
import resource
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.shim.budget import Budget
from torchbuild.shim.control_groups import group_folders
from torchbuild.shim.processors import quota_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.edges.host_files import HostFiles

__all__ = ["Memory", "cores_of", "limits_of", "meminfo", "memory_of", "quota_told"]

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
    """The machine's memory, the smallest limit of our groups, and what a build would find to be left.

    Raises:
        OSError: the kernel's files cannot be read.
    """
    told = meminfo(files.text("/proc/meminfo"))
    budget = Budget(str(files.place("/")))
    available = budget.room().available if "MemAvailable" in told else None
    return Memory(told.get("MemTotal"), budget.limit(), available, told.get("SwapFree"))


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


def _groups(files: HostFiles, controller: str) -> Iterator[_Group]:
    cgroup, mounts = files.text("/proc/self/cgroup"), files.text("/proc/self/mountinfo")
    for folder, is_first in group_folders(cgroup, mounts, controller):
        yield _Group(folder, is_first)


def limits_of() -> dict[str, int]:
    """Soft limits that are set."""
    found = {name: resource.getrlimit(number)[0] for name, number in _LIMITS.items()}
    return {name: limit for name, limit in found.items() if limit != resource.RLIM_INFINITY}
