"""What the toolchain stage does for each part: the steps that make it, then the looks at it."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from torchbuild.errors import LockError
from torchbuild.model.command import Command, expand
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart
from torchbuild.resolve.part_kinds import KINDS, Guest, Kind, Step
from torchbuild.toolchains.python_part import builder_part

__all__ = ["REQUESTS", "PlannedPart", "PlannedStep", "is_in_the_tree", "planned_parts", "steps_of"]

REQUESTS = "{work}/parts/.requests"
"""Where guest scripts find what they are told."""
_GUEST = "{shim}/torchbuild_shim"
_BUNDLED = "bundled"


class PlannedStep(Frozen):
    """One step of a part."""

    name: str
    """What its log is called."""
    commands: tuple[Command, ...]
    """Its commands, in order."""
    request: tuple[str, str] | None
    """What its script reads: path, with placeholders, and text; None for a program of others."""

    def requests(self) -> tuple[tuple[str, str], ...]:
        """The request, where there is one."""
        return () if self.request is None else (self.request,)


class PlannedPart(Frozen):
    """One part, and the steps of which it is made and proven, in the order of `steps_of`."""

    part: LockedPart
    """The part."""
    steps: tuple[PlannedStep, ...]
    """One for each step."""


def planned_parts(lock: Lock, python: str, environ: tuple[tuple[str, str], ...]) -> tuple[PlannedPart, ...]:
    """Every part of a lock; an interpreter of the builder is one too, and is only looked at.

    Args:
        lock: the lock.
        python: what runs the guest scripts, by absolute path; an interpreter of ours runs its own.
        environ: the variables that they see, sorted.

    Raises:
        LockError: ``lock-part-unknown``, ``lock-part-unreadable``.
    """
    found = []
    own = () if lock.part("python") else (builder_part("system", lock.python),)
    for part in (*own, *lock.parts):
        runs = lock.python.executable if part.name == "python" else python
        try:
            steps = tuple(_planned(step, part, lock, runs, environ) for step in steps_of(part))
        except (KeyError, ValueError) as error:
            raise _unreadable(part, error) from error
        found.append(PlannedPart(part=part, steps=steps))
    return tuple(found)


def _unreadable(part: LockedPart, error: Exception) -> LockError:
    return LockError(
        "lock-part-unreadable",
        f"the lock's part {part.name} lacks what its proof compares, or says what nobody knows",
        why=f"seen {part.provider} {part.version} with {', '.join(part.says) or 'nothing more'}: {error!r}",
        fix="Make the lock anew with `torchbuild lock`.",
    )


def steps_of(part: LockedPart) -> tuple[Step, ...]:
    """All steps of a part: what makes it, then what looks at it.

    Raises:
        LockError: ``lock-part-unknown``.
    """
    if is_in_the_tree(part):
        return ()
    kind = _kind(part)
    return (*kind.make(part), *kind.looks)


def is_in_the_tree(part: LockedPart) -> bool:
    """Whether the tree itself builds it: it is not there yet, and the gate is what looks."""
    return part.name == "nccl" and part.provider == _BUNDLED and not part.pieces


def _kind(part: LockedPart) -> Kind:
    kind = KINDS.get(part.name)
    if kind is None:
        raise LockError(
            "lock-part-unknown",
            f"the lock has a part {part.name}, which this version cannot prove",
            why=f"wanted one of {', '.join(KINDS)}",
            fix="Use the torchbuild that made the lock, or make it anew with `torchbuild lock`.",
        )
    return kind


def _planned(
    step: Step, part: LockedPart, lock: Lock, python: str, environ: tuple[tuple[str, str], ...]
) -> PlannedStep:
    if not isinstance(step, Guest):
        return PlannedStep(name=step.name, commands=step.commands(part, lock), request=None)
    name = f"{part.name}-{PurePosixPath(step.script).stem}"
    path = f"{REQUESTS}/{name}.json"
    command = Command(argv=(python, "-I", f"{_GUEST}/{step.script}", path), environ=environ)
    told = expand(json.dumps(dict(step.told(part, lock)), sort_keys=True))
    return PlannedStep(name=name, commands=(command,), request=(path, told))
