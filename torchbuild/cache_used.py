"""The compiler cache of a compile stage: what it said, and whether it could have had what it did not."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from torchbuild.context import Context
from torchbuild.errors import HostError
from torchbuild.model.finding import Finding
from torchbuild.model.lock import Lock
from torchbuild.model.stage import lock_part, stage_key
from torchbuild.report.cache_calls import source_of
from torchbuild.report.cache_findings import cache_findings
from torchbuild.report.cache_statistics import language_of, statistics_of
from torchbuild.report.events import Found

__all__ = ["SHIM_SAYS", "STATSLOG", "cache_evidence", "cache_used", "hits_told", "warm_key"]

STATSLOG = "{work}/tmp/ccache-stats.log"
"""A word for each call, whichever cache it was."""
SHIM_SAYS = "compiler_cache"
"""Where the shim leaves, among what it measured, what a cache's server said."""
_WARM = "{cache}/warm"
"""Names of what was compiled to its end through the caches that lie here."""


def warm_key(lock: Lock) -> str:
    """What is compiled, as far as it makes an object: compiled once, a cache should have it."""
    fields = (
        "source", "environ", "defines", "compiler", "compiler_c", "compiler_cache", "gpu_archs", "parts",
    )  # fmt: skip
    return stage_key("warm", 1, lock_part(lock, *fields)).digest


def cache_evidence(program: str, usage: Mapping[str, Any], context: Context) -> dict[str, str]:
    """What the cache counted, for the report; nothing without one."""
    if not program:
        return {}
    statslog = context.trees.read(context.workspace.inside(STATSLOG)) or ""
    return statistics_of(program, statslog, _said(usage).get("cache")).evidence()


def cache_used(
    program: str, key: str, usage: Mapping[str, Any], outputs: Iterable[str], context: Context
) -> tuple[Finding, ...]:
    """What it did not do that it was there for, told; from now on it has what was compiled.

    Args:
        program: the cache; empty for none.
        key: see `warm_key`.
        usage: what the shim measured.
        outputs: of edges that ran.
        context: the world.
    """
    if not program:
        return ()
    trees, warm = context.trees, context.workspace.inside(f"{_WARM}/{key}")
    statslog = trees.read(context.workspace.inside(STATSLOG)) or ""
    said = _said(usage)
    counted = statistics_of(program, statslog, said.get("cache"))
    findings = tuple(
        cache_findings(counted, _languages(outputs), was_warm=trees.read(warm) is not None, shim=said)
    )
    for finding in findings:
        context.reporter.emit(Found(stage="compile", finding=finding))
    if counted.calls and context.target is None:
        with suppress(HostError):  # a cache that may only be read still serves
            trees.write(warm, f"{program}\n")
    return findings


def hits_told(evidence: Mapping[str, str]) -> str:
    """For the summary."""
    said = evidence.get("cache_hits", "")
    return f", {said} compiler calls from the cache" if said else ""


def _said(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    said = usage.get(SHIM_SAYS)
    return said if isinstance(said, dict) else {}


def _languages(outputs: Iterable[str]) -> Mapping[str, int]:
    """How many objects of each were made."""
    sources = ((output, source_of(output)) for output in outputs)
    return Counter(
        language_of(source)
        for output, source in sources
        if source != output and posixpath.splitext(source)[1]
    )
