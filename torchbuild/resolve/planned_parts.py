"""What the toolchain stage does for one part: lay, make, complete, look."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from torchbuild.errors import LockError
from torchbuild.model.command import Command
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart
from torchbuild.resolve.part_kinds import KINDS, Kind
from torchbuild.toolchains.proof import Wanted

__all__ = ["REQUESTS", "PlannedPart", "planned_parts", "wanted_of"]

REQUESTS = "{work}/parts/.requests"
"""Where guest scripts find what they are told."""
_GUEST = "{shim}/torchbuild_shim"


class PlannedPart(Frozen):
    """One part, and the commands of which it is made, in order."""

    part: LockedPart
    """The part."""
    requests: tuple[tuple[str, str], ...]
    """Files that the commands read: path, with placeholders, and text."""
    make: tuple[Command, ...]
    """What lays the pieces that are not just unpacked, then what completes the part."""
    looks: tuple[Command, ...]
    """What looks at it, one for each look of its kind; each prints one line of JSON."""


def planned_parts(lock: Lock, python: str, environ: tuple[tuple[str, str], ...]) -> tuple[PlannedPart, ...]:
    """Every part of a lock.

    Args:
        lock: the lock.
        python: what runs the guest scripts, by absolute path; an interpreter of ours runs its own.
        environ: the variables that they see, sorted.

    Raises:
        LockError: ``lock-part-unknown``.
    """
    return tuple(_planned(part, lock, python, environ) for part in lock.parts)


def _planned(part: LockedPart, lock: Lock, python: str, environ: tuple[tuple[str, str], ...]) -> PlannedPart:
    kind = KINDS.get(part.name)
    if kind is None:
        raise LockError(
            "lock-part-unknown",
            f"the lock has a part {part.name}, which this version cannot prove",
            why=f"wanted one of {', '.join(KINDS) or 'none'}",
            fix="Use the torchbuild that made the lock, or make it anew with `torchbuild lock`.",
        )
    runs = lock.python.executable if part.name == "python" else python
    making = tuple(_making(part, lock, kind))
    looks = tuple(
        (PurePosixPath(item.script).stem, item.script, item.told(part, lock)) for item in kind.looks
    )
    requests, commands = [], []
    for step, script, told in (*making, *looks):
        path = f"{REQUESTS}/{part.name}-{step}.json"
        requests.append((path, json.dumps(told, sort_keys=True)))
        commands.append(Command(argv=(runs, "-I", f"{_GUEST}/{script}", path), environ=environ))
    return PlannedPart(
        part=part,
        requests=tuple(requests),
        make=tuple(commands[: len(making)]),
        looks=tuple(commands[len(making) :]),
    )


def _making(part: LockedPart, lock: Lock, kind: Kind) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for how in dict.fromkeys(piece.how for piece in part.pieces):
        if how in kind.made:
            script, told = kind.made[how]
            yield how, script, told(part, lock)
    if kind.complete and part.is_ours:
        yield "complete", kind.complete, kind.to_complete(part, lock)


def wanted_of(lock: Lock) -> Wanted:
    """What the parts of a lock are compared with."""
    cuda = lock.part("cuda")
    return Wanted(
        archs=lock.gpu_archs,
        cxx=lock.cxx,
        torch=lock.wheel.public_version,
        machine=lock.machine,
        cuda=".".join(cuda.version.split(".")[:2]) if cuda is not None else "",
    )
