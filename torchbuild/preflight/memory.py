"""Memory: how many compilers at a time fit, by the limit that really counts."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.preflight.case import Case
from torchbuild.preflight.estimate import Amount, job_memory, jobs_asked, memory_here
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["cores", "memory_for_jobs"]

_GIB = 1 << 30
_SHARE = 0.8
"""What of the memory compilers may take: without a margin machines have rebooted (report G7)."""


def memory_for_jobs(case: Case) -> Iterator[Preflight]:
    """Jobs times what a compiler takes, within the control group's limit."""
    there, what = memory_here(case), "memory for compilers"
    if there is None:
        yield not_run("memory-for-jobs", f"{what}: {case.is_unseen('memory') or 'nobody could look'}")
        return
    seen = f"{there.count / _GIB:.1f} GiB ({there.basis})"
    if case.recipe is None:
        yield passed("memory-for-jobs", what, seen=seen)
        return
    if case.recipe.wheel.package != "torch":
        told = f"{what}: nobody measured those of {case.recipe.wheel.package}"
        yield not_run("memory-for-jobs", told, seen=seen)
        return
    yield _judged(case, there, seen, what)


def _judged(case: Case, there: Amount, seen: str, what: str) -> Preflight:
    host, one, jobs = case.host, job_memory(case), jobs_asked(case)
    fits = int(_SHARE * there.count / one.count)
    wanted = f"up to {one.count / _GIB:.1f} GiB a compiler ({one.basis})"
    alone = host.limits.get("memory", one.count)
    if there.count + (host.swap or 0) < one.count or alone < one.count:
        return failed(
            "memory-for-jobs",
            f"{what}: not even one of the largest fits",
            seen=seen if alone >= one.count else f"{alone / _GIB:.1f} GiB for each process (ulimit -v)",
            wanted=wanted,
            fix="Raise the limit or add swap; or build where there is more.",
        )
    if jobs > max(fits, 1) or there.count < one.count:
        return warned(
            "memory-for-jobs",
            f"{what}: {jobs} jobs may not fit at once, where the largest meet",
            seen=seen,
            wanted=wanted,
            fix=f"Build with --set machine.jobs={max(fits, 1)}",
        )
    if host.memory_available is not None and host.memory_available < one.count:
        return warned(
            "memory-for-jobs",
            f"{what}: other programs use it now",
            seen=f"{host.memory_available / _GIB:.1f} GiB free of {seen}",
            wanted=wanted,
            fix="End them, or build later.",
        )
    return passed("memory-for-jobs", f"{what}: {jobs} jobs", seen=seen, wanted=wanted)


def cores(case: Case) -> Iterator[Preflight]:
    """More jobs than cores only take memory."""
    jobs, have = jobs_asked(case), case.host.cores
    what = "jobs and cores"
    if jobs > 2 * have:
        fix = f"Set machine.jobs to about {have}."
        yield warned("jobs-over-cores", what, seen=f"{jobs} jobs", wanted=f"about {have}, the cores", fix=fix)
    else:
        yield passed("jobs-over-cores", what, seen=f"{jobs} jobs on {have} cores")
