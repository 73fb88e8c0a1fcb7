"""What a build takes in time, space and memory: by earlier runs, else by what others have measured."""

from __future__ import annotations

from typing import Literal

from torchbuild.knowledge.build_costs import Cost, MemoryCost, job_cost, space_cost, time_cost
from torchbuild.model.frozen import Frozen
from torchbuild.preflight.case import Case, EarlierRun

__all__ = ["Amount", "Estimate", "disk_need", "estimates", "job_memory", "jobs_asked", "memory_here"]

_GB = 1_000_000_000
_HOUR = 3600
_OFF = ("0", "OFF", "FALSE", "NO", "N")


class Amount(Frozen):
    """Bytes, and who says so."""

    count: int
    """Bytes."""
    basis: str
    """What the number rests on."""


class Estimate(Frozen):
    """One thing that a build takes."""

    what: Literal["time", "disk", "memory"]
    """Which."""
    text: str
    """As a person says it, such as ``at least 4 h``."""
    basis: str
    """What it rests on."""
    low: float
    """Seconds or bytes, at least."""
    high: float | None
    """At most, as far as anybody knows."""


def jobs_asked(case: Case) -> int:
    """Compilers at a time: the recipe's word, else the cores."""
    asked = case.recipe.machine.jobs if case.recipe is not None else None
    return asked or case.host.cores


def memory_here(case: Case) -> Amount | None:
    """What processes of a build may take together: the least of what limits them."""
    host = case.host
    asked = case.recipe.machine.memory_gib if case.recipe is not None else None
    limits = [
        (host.memory, "all of this machine"),
        (host.memory_limit, "the control group's limit"),
        (int(asked * (1 << 30)) if asked else None, "machine.memory_gib"),
    ]
    known = [(count, basis) for count, basis in limits if count is not None]
    if not known:
        return None
    count, basis = min(known, key=lambda item: item[0])
    return Amount(count=count, basis=basis)


def _kind(case: Case) -> Literal["cpu", "cuda"]:
    return "cuda" if case.has_cuda else "cpu"


def _archs(case: Case) -> int:
    cuda = case.recipe.cuda if case.recipe is not None else None
    return len(cuda.archs) if cuda is not None else 0


def _is_torch(case: Case) -> bool:
    return case.recipe is not None and case.recipe.wheel.package == "torch"


def job_memory(case: Case) -> Amount:
    """What the largest single compiler takes."""
    flags = case.recipe.build.flags if case.recipe is not None else {}
    off = {name for name, value in flags.items() if str(value).upper() in _OFF}
    fact: MemoryCost = job_cost(_kind(case), frozenset(off))
    return Amount(count=int(fact.gb * _GB), basis=f"{fact.what}, {fact.source}")


def disk_need(case: Case) -> Amount | None:
    """What a workspace grows to; None for packages of which nobody measured one."""
    if not _is_torch(case):
        return None
    low, high = space_cost(_kind(case), _archs(case))
    share = 0.0 if high is low else (_archs(case) - low.archs) / (high.archs - low.archs)
    count = low.amount + max(share, 0.0) * (high.amount - low.amount)
    basis = low.source if high is low else f"between {low.source} and {high.source}"
    return Amount(count=int(count * _GB), basis=basis)


def estimates(case: Case) -> tuple[Estimate, ...]:
    """All three, as far as anybody knows; none without a recipe."""
    if case.recipe is None:
        return ()
    found = [*_time(case)]
    if not _is_torch(case):
        return tuple(found)
    need = disk_need(case)
    if need is not None:
        text = f"about {need.count / _GB:.0f} GB"
        found.append(Estimate(what="disk", text=text, basis=need.basis, low=need.count, high=None))
    one, jobs = job_memory(case), jobs_asked(case)
    text = (
        f"up to {one.count / _GB:.1f} GB a compiler, {one.count * jobs / _GB:.0f} GB where {jobs} such meet"
    )
    found.append(
        Estimate(what="memory", text=text, basis=one.basis, low=one.count, high=float(one.count * jobs))
    )
    return tuple(found)


def _time(case: Case) -> tuple[Estimate, ...]:
    whole = next((run for run in case.earlier if "compile" in run.seconds), None)
    if whole is not None:
        return (_as_before(whole),)
    if not _is_torch(case):
        return ()
    fact: Cost = time_cost(_kind(case))
    seconds = fact.amount * _HOUR / min(jobs_asked(case), case.host.cores)
    more = f", for {_archs(case)} architectures more" if _archs(case) > 1 else ""
    basis = (
        f"{fact.amount:g} processor hours by {fact.source}, on {case.host.cores} cores, nothing in a cache"
    )
    return (
        Estimate(what="time", text=f"at least {_rough(seconds)}{more}", basis=basis, low=seconds, high=None),
    )


def _as_before(run: EarlierRun) -> Estimate:
    seconds = sum(run.seconds.values())
    return Estimate(
        what="time",
        text=f"{_rough(seconds)}, as last time",
        basis=f"run {run.run} of {run.started}; less where its objects are in the compiler's cache",
        low=0.0,
        high=seconds,
    )


def _rough(seconds: float) -> str:
    """No more precision than an estimate has: half hours, then minutes."""
    if seconds >= _HOUR:
        return f"{round(seconds / _HOUR * 2) / 2:g} h"
    return f"{max(round(seconds / 60), 1)} min"
