"""The solver: a wish and the facts -> choices, or conflicts as values. Deterministic."""

from __future__ import annotations

from torchbuild.advice import cite
from torchbuild.advice.answer import Advice, Cited, Conflict
from torchbuild.advice.chip_rules import fixed_conflicts
from torchbuild.advice.choices import choices_for
from torchbuild.advice.notes import notes_for
from torchbuild.advice.readable import unreadable
from torchbuild.advice.refusal import refusal
from torchbuild.advice.target import Case, case_of
from torchbuild.advice.toolkits import Against, against, candidates
from torchbuild.advice.ways import ways_out
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import CudaRelease, cuda_releases
from torchbuild.knowledge.fact import table_cache
from torchbuild.knowledge.torch_releases import torch_line

__all__ = ["solve"]


@table_cache
def solve(wish: Wish) -> Advice:
    """What to build for a wish, or why nothing can be and what could instead. Asked again, it is remembered.

    The toolkit is the newest that torch was released with and that nothing rules out; where there is none,
    the newest other. What upstream's own binaries hold is information, never a constraint.
    """
    advice = _solved(wish)
    if advice.is_possible:
        return advice
    return advice.model_copy(update={"ways": ways_out(wish, advice.conflicts, _tried)})


def _solved(wish: Wish) -> Advice:
    case, unknown = case_of(wish)
    unread = tuple(unreadable(wish))
    if unread or unknown:
        return _refused(wish, (*unread, *unknown))
    fixed = tuple(fixed_conflicts(case))
    if torch_line(wish.torch) is None:
        return _refused(wish, fixed)
    if not case.has_cuda:
        return _refused(wish, fixed) if fixed else _possible(case, None)
    found = _toolkit(case)
    if isinstance(found, tuple):
        return _refused(wish, (*fixed, *found))
    return _refused(wish, fixed) if fixed else _possible(case, found)


def _tried(wish: Wish) -> Advice | None:
    """What can be for a wish that is a way out; given up at the first reason, which nobody asks for."""
    case, unknown = case_of(wish)
    is_out = unknown or any(True for _ in unreadable(wish)) or any(True for _ in fixed_conflicts(case))
    if is_out or not case.has_cuda:
        return None if is_out else _possible(case, None)
    goes = (row for row in candidates(case) if next(against(case, row), None) is None)
    cuda = next(goes, None)
    return _possible(case, cuda) if cuda else None


def _toolkit(case: Case) -> CudaRelease | tuple[Conflict, ...]:
    """The toolkit to take, or why there is none."""
    tried = candidates(case)
    if not tried:
        return (_unknown_toolkit(case.wish),)
    ruled_out: list[tuple[Against, ...]] = []
    for cuda in tried:
        reasons = tuple(against(case, cuda))
        if not reasons:
            return cuda
        ruled_out.append(reasons)
    return refusal(case, ruled_out)


def _possible(case: Case, cuda: CudaRelease | None) -> Advice:
    choices = choices_for(case, cuda)
    return Advice(
        wish=case.wish,
        choices=choices,
        notes=notes_for(case, cuda),
        unconfirmed=_unconfirmed(tuple(fact for item in choices for fact in item.facts)),
        conflicts=(),
        ways=(),
    )


def _refused(wish: Wish, conflicts: tuple[Conflict, ...]) -> Advice:
    return Advice(
        wish=wish,
        choices=(),
        notes=(),
        unconfirmed=_unconfirmed(tuple(fact for item in conflicts for fact in item.facts)),
        conflicts=conflicts,
        ways=(),
    )


def _unconfirmed(facts: tuple[Cited, ...]) -> tuple[Cited, ...]:
    return tuple(dict.fromkeys(fact for fact in facts if not fact.is_confirmed))


def _unknown_toolkit(wish: Wish) -> Conflict:
    newest = cuda_releases()[-1]
    known = Cited(
        table="cuda.release",
        row=newest.version,
        says=f"{newest.version} is the newest release that is known",
        source=newest.source,
        checked=newest.checked,
    )
    return Conflict(
        reference="cuda-release-unknown",
        what=f"CUDA {wish.cuda} is no release that is known",
        facts=(cite.asked("cuda", wish.cuda), known),
        fix="Name a release that exists.",
    )
