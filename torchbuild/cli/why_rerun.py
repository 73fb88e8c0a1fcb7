"""Which stages a build would run again, and why: from records alone, with nothing run and nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torchbuild.cli.places import Places
from torchbuild.cli.running import run_name
from torchbuild.edges.housekeeping import last_run
from torchbuild.edges.records import Doubt, StageRecords
from torchbuild.edges.workspace import DirectoryWorkspace
from torchbuild.model.lock import Lock
from torchbuild.pipeline import STAGES, Stage, asks_each_time, carrying, plan_all, watched, whole_keys

__all__ = ["Answer", "Verdict", "why_rerun"]

_MOST_LINES = 8
_FIELDS = frozenset(Lock.model_fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What would become of one stage."""

    stage: str
    """Its name."""
    is_reused: bool
    """Whether what an earlier run made is taken."""
    why: tuple[str, ...]
    """Why not, one line a reason; empty where it is reused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a build would do again."""

    run: str
    """The run that a build would use."""
    compared: str
    """The run whose records were looked at; empty where there is none of this recipe."""
    stages: tuple[Verdict, ...]
    """All, in order."""

    def json(self) -> dict[str, Any]:
        """For a program."""
        stages = [
            {"stage": item.stage, "outcome": "reused" if item.is_reused else "rerun", "why": list(item.why)}
            for item in self.stages
        ]
        return {"run": self.run, "compared": self.compared or None, "stages": stages}

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"run {self.run}" + self._compared()
        for item in self.stages:
            yield f"  {item.stage:9}  {'reused' if item.is_reused else 'rerun'}"
            yield from (f"             {reason}" for reason in item.why[:_MOST_LINES])
            if len(item.why) > _MOST_LINES:
                yield f"             and {len(item.why) - _MOST_LINES} more; --json names them"

    def _compared(self) -> str:
        if self.compared == self.run:
            return ""
        if not self.compared:
            return ": no run of this recipe is on this machine"
        return f" is new: another lock; compared with {self.compared}, the last one of this recipe"


def why_rerun(lock: Lock, places: Places, *, paranoid: bool = False, is_dev: bool = False) -> Answer:
    """Judge every stage as a build with this lock would find it now.

    A lock has a workspace of its own. Where that is not there yet, every stage runs, and what is different
    from the last run of the same recipe is told.

    Args:
        lock: of the build.
        places: where workspaces are.
        paranoid: read every made file again.
        is_dev: of the one workspace that is kept for the recipe, where people edit.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    run = run_name(lock, is_dev=is_dev)
    own = places.builds / run
    last = None if is_dev else last_run(places.builds, lock.name)
    path = own if (own / "about.json").is_file() else last
    if path is None:
        why = ("nothing of it is done",)
        return Answer(run=run, compared="", stages=tuple(_rerun(item.name, why) for item in STAGES))
    records = StageRecords(DirectoryWorkspace(path, places.store, places.compiler_cache), paranoid=paranoid)
    verdicts = _verdicts(lock, records, is_new=path.name != run, is_dev=is_dev)
    return Answer(run=run, compared=path.name, stages=verdicts)


def _rerun(stage: str, why: tuple[str, ...]) -> Verdict:
    return Verdict(stage=stage, is_reused=False, why=why)


def _verdicts(lock: Lock, records: StageRecords, *, is_new: bool, is_dev: bool) -> tuple[Verdict, ...]:
    plans = plan_all(lock)
    whole = whole_keys(plans, is_dev=is_dev)
    again: set[str] = set()
    found = []
    for item, plan in zip(STAGES, plans, strict=True):
        makes = watched(plan, is_dev=is_dev)
        doubts = records.doubts(plan.stage, whole[plan.stage], makes) if item.is_kept else ()
        needs = carrying(plan, is_dev=is_dev)
        why = tuple(_reasons(item, doubts, [name for name in needs if name in again], again))
        if asks_each_time(plan.stage, is_dev=is_dev):
            why = (*why, "people edit here: ninja is asked each time what is new")
        if is_new and not why:
            why = ("nothing that decides it changed, but a new workspace is empty",)
        if why:
            again.add(plan.stage)
        found.append(Verdict(stage=plan.stage, is_reused=not why, why=why))
    return tuple(found)


def _reasons(item: Stage, doubts: tuple[Doubt, ...], needs: list[str], again: set[str]) -> Iterator[str]:
    """Its own reasons, then the stages that it builds on and that run again."""
    if not item.is_kept:
        yield "what it makes lies outside of the workspace: it looks each time"
    earlier = {f"stage {name} changed" for name in again}
    for doubt in doubts:
        if doubt.what not in earlier:
            yield _named(doubt)
    yield from (f"stage {name} runs again" for name in needs)


def _named(doubt: Doubt) -> str:
    """A part of the key that is a field of the lock is called that."""
    if doubt.kind == "key" and doubt.what.partition(" ")[0].partition(".")[0] in _FIELDS:
        return f"lock: {doubt.what}"
    return doubt.what
