"""A control group that limits the memory of all that a command starts, where no engine makes one."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.errors import HostError
from torchbuild.shim.control_groups import group_chains

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["memory_group"]

_PREFIX = "torchbuild-"
_LIMITS = ("memory.limit_in_bytes", "memory.max")
"""In version 1 and 2 of the kernel's interface."""
_WITH_SWAP = (("memory.memsw.limit_in_bytes", ""), ("memory.swap.max", "0"))
"""The limit with swap included, and that of swap alone; kernels without swap have neither."""


@contextlib.contextmanager
def memory_group(gib: float) -> Iterator[Path]:
    """Make a group below our own, and remove it afterwards; groups that killed runs left go too.

    Args:
        gib: GiB that all its processes together may use, swap included.

    Yields:
        The file into which a process writes a 0 to be in the group.

    Raises:
        HostError: ``memory-not-limitable``.
    """
    size = str(int(gib * (1 << 30)))
    try:
        own = _own_group()
        group = own / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        _sweep(own)
        group.mkdir()
    except OSError as error:
        raise _refused(gib, error) from error
    try:
        try:
            _limit(own, group, size)
        except OSError as error:
            raise _refused(gib, error) from error
        yield group / "cgroup.procs"
    finally:
        with contextlib.suppress(OSError):  # a process that is about to end holds it: the next run's turn
            group.rmdir()


def _own_group() -> Path:
    """The directory of the memory group that we are in: not one above it, which is others' too."""
    own, mounts = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
    for folders, is_first in group_chains(own, mounts, "memory"):
        group = Path(folders[0])
        if is_first or "memory" in (group / "cgroup.controllers").read_text().split():
            return group
    raise FileNotFoundError(2, "no memory controller is mounted")


def _limit(own: Path, group: Path, size: str) -> None:
    name = next((name for name in _LIMITS if (group / name).exists()), None)
    if name is None:
        (own / "cgroup.subtree_control").write_text("+memory")
        name = _LIMITS[1]
    (group / name).write_text(size)
    for swap, value in _WITH_SWAP:
        if (group / swap).exists():
            (group / swap).write_text(value or size)


def _sweep(own: Path) -> None:
    """A group without processes, whose maker is gone, is of no use to anybody."""
    for left in own.glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


def _refused(gib: float, error: OSError) -> HostError:
    return HostError(
        "memory-not-limitable",
        f"a limit of {gib:g} GiB cannot be set without an engine on this machine",
        why=(f"seen: {error}", "wanted: a control group for memory that this user may make"),
        fix="Leave machine.memory_gib out and set machine.jobs, or let the scheduler limit the job.",
    )
