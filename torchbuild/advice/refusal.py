"""Why no toolkit will do: the fewest facts that rule all of them out, told against one another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.target import Case
from torchbuild.advice.toolkits import Against, floor_of
from torchbuild.advice.versions import parsed_driver

__all__ = ["refusal"]

_SHARED = "chips-share-no-toolkit"
_Kind = tuple[str, str]


def refusal(case: Case, ruled_out: Sequence[tuple[Against, ...]]) -> tuple[Conflict, ...]:
    """The conflicts.

    Args:
        case: the wish.
        ruled_out: for each toolkit that was tried, what is against it; never empty.
    """
    if case.wish.cuda:
        return tuple(_alone(case, item) for item in ruled_out[0])
    cover = _cover(ruled_out)
    if len(cover) > 1 and all(item.reference == "toolkit-unaware-of-chip" for item in cover):
        return (_shared(cover),)
    return tuple(_against_others(case, item, cover) for item in cover)


def _cover(ruled_out: Sequence[tuple[Against, ...]]) -> tuple[Against, ...]:
    """The fewest kinds of fact of which each toolkit meets one; of equals, those that come first."""
    met = [{_kind(item): item for item in items} for items in ruled_out]
    known = tuple(dict.fromkeys(kind for row in met for kind in row))
    for size in range(1, len(known) + 1):
        for kinds in combinations(known, size):
            if all(not row.keys().isdisjoint(kinds) for row in met):
                return tuple(_told(kind, kinds, met) for kind in kinds)
    return ()


def _kind(item: Against) -> _Kind:
    return item.reference, item.about


def _told(kind: _Kind, kinds: tuple[_Kind, ...], met: Sequence[dict[_Kind, Against]]) -> Against:
    """The fact as it is against a toolkit that nothing else rules out.

    That is the toolkit that the fewest other facts rule out, of equals the one that would be liked most; of
    drivers, the one that asks for the least.
    """
    having = [row for row in met if kind in row]
    alone = [row for row in having if not any(other in row for other in kinds if other != kind)]
    best = min(alone or having, key=lambda row: (parsed_driver(row[kind].least) or (), len(row)))
    return best[kind]


def _alone(case: Case, item: Against) -> Conflict:
    """Against the very toolkit that is asked for."""
    is_wished = any(fact.table == "wish" for fact in item.facts)
    facts = item.facts if is_wished else (cite.asked("cuda", case.wish.cuda), *item.facts)
    extra = () if len(facts) > 1 else (_of_torch(case),)
    return Conflict(
        reference=item.reference,
        what=f"CUDA {case.wish.cuda}: {item.what}",
        facts=(*facts, *extra),
        fix=item.fix,
    )


def _of_torch(case: Case) -> Cited:
    """What the release of torch says of toolkits: the other side of what has no other."""
    line = floor_of(case.wish.torch)
    return cite.torch_line(line, of=case.wish.torch) if line else cite.asked("torch", case.wish.torch)


def _shared(cover: tuple[Against, ...]) -> Conflict:
    return Conflict(
        reference=_SHARED,
        what=f"no toolkit compiles for all: {'; '.join(item.what for item in cover)}",
        facts=tuple(fact for item in cover for fact in item.facts),
        fix="Leave one of the chips out, or build a wheel for each.",
    )


def _against_others(case: Case, item: Against, cover: tuple[Against, ...]) -> Conflict:
    """One fact, told against the other facts that leave nothing."""
    others = tuple(fact for other in cover if other is not item for fact in other.facts)
    facts = tuple(dict.fromkeys((*item.facts, *others)))
    if len(facts) < 2:  # noqa: PLR2004  a conflict is between two
        facts = (*facts, _of_torch(case))
    return Conflict(reference=item.reference, what=item.what, facts=facts, fix=item.fix)
