"""Facts, conflicts and ways out as lines for a person, and the command line of a wish."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from shlex import join

from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.wish import Wish

__all__ = ["cited_line", "conflict_lines", "conflicts_lines", "init_command", "is_proven"]

_OPTIONS = {
    "torch": "--torch",
    "driver": "--driver",
    "modules": "--kernel-modules",
    "glibc": "--glibc",
    "python": "--python",
    "cuda": "--cuda",
}
"""Fields of a wish that have an option of their own."""
_UNKNOWN = "-unknown"


def cited_line(fact: Cited) -> str:
    """``CUDA >=6.5,<12 compiles for sm_37 (cuda.arch 37: what was read, 2026-11-30)``."""
    if not fact.source:
        return fact.says
    return f"{fact.says} ({fact.table} {fact.row}: {fact.source}, {fact.checked})"


def conflict_lines(conflict: Conflict) -> Iterator[str]:
    """What is impossible, then the facts that forbid it, one a line."""
    yield f"{conflict.what} [{conflict.reference}]"
    yield from (f"  {cited_line(fact)}" for fact in conflict.facts)


def conflicts_lines(conflicts: Iterable[Conflict]) -> Iterator[str]:
    """The same of several; those that collide with one another name their facts once, below both."""
    groups: dict[frozenset[Cited], list[Conflict]] = {}
    for conflict in conflicts:
        groups.setdefault(frozenset(conflict.facts), []).append(conflict)
    for group in groups.values():
        *others, last = group
        yield from (f"{item.what} [{item.reference}]" for item in others)
        yield from conflict_lines(last)


def is_proven(conflict: Conflict) -> bool:
    """Whether somebody confirmed every fact of it. What is not known is no proof; nor are wishes alone."""
    is_known = any(fact.source for fact in conflict.facts) and not conflict.reference.endswith(_UNKNOWN)
    return is_known and all(fact.is_confirmed for fact in conflict.facts)


def init_command(wish: Wish, *, more: tuple[str, ...] = (), is_cpu: bool | None = None) -> str:
    """The command line that asks for a wish.

    Args:
        wish: what is asked for.
        more: further arguments, such as ``--out FILE``.
        is_cpu: whether it is a wheel for the CPU; None where the wish says all of it.
    """
    without = not wish.gpus and not wish.archs if is_cpu is None else is_cpu
    return join(("torchbuild", "init", *_words(wish, is_cpu=without), *more))


def _words(wish: Wish, *, is_cpu: bool) -> Iterator[str]:
    values = wish.model_dump()
    if wish.torch:
        yield from ("--torch", wish.torch)
    for gpu in wish.gpus:
        yield from ("--gpu", gpu)
    if is_cpu:
        yield "--cpu"
    for field, option in list(_OPTIONS.items())[1:]:
        if values[field]:
            yield from (option, values[field])
    if wish.forward_compat:
        yield "--forward-compat"
    if wish.machine != Wish.model_fields["machine"].default:
        yield from ("--machine", wish.machine)
    for setting in _settings(wish):
        yield from ("--set", setting)


def _settings(wish: Wish) -> Iterator[str]:
    """What has no option of its own, as keys of a recipe."""
    if wish.archs:
        yield f"cuda.archs={json.dumps(list(wish.archs))}"
    if wish.cudnn:
        yield f"cudnn.version={wish.cudnn}"
    if wish.nccl:
        yield f"nccl.version={wish.nccl}"
    if wish.gcc:
        yield f"toolchain.cxx=g++-{wish.gcc}"
