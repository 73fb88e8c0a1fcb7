"""Memory: how many compilers at a time fit, by the limit that really counts."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.preflight.case import Case
from torchbuild.preflight.estimate import job_memory, jobs_asked, memory_here
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
    one, jobs = job_memory(case), jobs_asked(case)
    fits = int(_SHARE * there.count / one.count)
    wanted = f"up to {one.count / _GIB:.1f} GiB a compiler ({one.basis})"
    if there.count < one.count:
        yield failed(
            "memory-for-jobs",
            f"{what}: not even one of the largest fits",
            seen=seen,
            wanted=wanted,
            fix="Raise the limit or add swap; or build where there is more.",
        )
    elif jobs > max(fits, 1):
        yield warned(
            "memory-for-jobs",
            f"{what}: {jobs} jobs may not fit at once, where the largest meet",
            seen=seen,
            wanted=wanted,
            fix=f"Build with --set machine.jobs={max(fits, 1)}",
        )
    else:
        yield passed("memory-for-jobs", f"{what}: {jobs} jobs", seen=seen, wanted=wanted)


def cores(case: Case) -> Iterator[Preflight]:
    """More jobs than cores only take memory."""
    jobs, have = jobs_asked(case), case.host.cores
    what = "jobs and cores"
    if jobs > 2 * have:
        fix = f"Set machine.jobs to about {have}."
        yield warned("jobs-over-cores", what, seen=f"{jobs} jobs", wanted=f"about {have}, the cores", fix=fix)
    else:
        yield passed("jobs-over-cores", what, seen=f"{jobs} jobs on {have} cores")
