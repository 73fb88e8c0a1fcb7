"""Machines that compile for this one, looked at where the compilers run, before anything is compiled."""

from __future__ import annotations

import json

from torchbuild.context import Context
from torchbuild.errors import HostError
from torchbuild.model.command import Command
from torchbuild.model.finding import Finding
from torchbuild.report.events import Found
from torchbuild.resolve.distribution import (
    POOL,
    POOL_ASKED,
    POOL_STATE,
    POOL_USED,
    PoolMember,
    judged,
    used,
)
from torchbuild.resolve.orders import printed_document
from torchbuild.resolve.pool_orders import pool_request, pool_told

__all__ = ["START", "pool_looked_at", "pool_slots", "pool_used"]

START = """\
import sys
sys.path.insert(0, sys.argv[1])
from torchbuild_shim.look_pool import main
sys.exit(main(sys.argv[2:]))
"""
"""Starts the look, by an interpreter of the build."""
_LOOK = ("{venv}/bin/python", "-IS", "-c", START, "{shim}", POOL_ASKED)


def pool_looked_at(front_end: Command, context: Context) -> tuple[Finding, ...]:
    """Lay the orders for the machines that compile as this one does; told before anything is compiled.

    Args:
        front_end: the command that compiles, for its environment.
        context: the world.

    Raises:
        HostError: ``pool-unusable``, where one is required and none can be used.
    """
    inside, trees = context.workspace.inside, context.trees
    for path in (POOL, POOL_USED, POOL_STATE):
        trees.remove(inside(path))
    if context.distribute is None:
        return ()
    environ = dict(front_end.environ)
    compilers = (environ.get("CC", "cc"), environ.get("CXX", "c++"))
    usable, findings = _looked(front_end, compilers, context)
    for finding in findings:
        context.reporter.emit(Found(stage="compile", finding=finding))
    if usable:
        trees.make(inside(POOL_STATE))
        trees.write(inside(POOL), pool_told(context.distribute, usable, compilers))
    elif context.distribute.required:
        raise HostError(
            "pool-unusable",
            "none of the machines that are to compile can be used; nothing was compiled",
            why=tuple(f"[{item.reference}] {item.what}: seen {item.seen}" for item in findings),
            fix="Mend what these lines name; or set machine.distribute.required = false.",
            link=str(context.workspace.logs / "pool.log"),
        )
    return findings


def _looked(
    front_end: Command, compilers: tuple[str, str], context: Context
) -> tuple[tuple[PoolMember, ...], tuple[Finding, ...]]:
    distribute = context.distribute
    if distribute is None:
        return (), ()
    context.trees.write(context.workspace.inside(POOL_ASKED), pool_request(distribute, compilers))
    command = front_end.model_copy(update={"argv": _LOOK, "cwd": "{work}"})
    done = context.executor.run(command, log=context.workspace.logs / "pool.log")
    try:
        seen = printed_document(context.trees.read(done.log) or "")
    except ValueError:
        seen = None
    return judged(distribute, seen)


def pool_slots(context: Context) -> int:
    """Compiles that are done elsewhere at once; 0 where nothing is."""
    told = json.loads(context.trees.read(context.workspace.inside(POOL)) or "{}")
    return sum(int(host["slots"]) for host in told.get("hosts", ()))


def pool_used(context: Context) -> tuple[Finding, ...]:
    """What became of them, also where the build failed."""
    findings = used(context.trees.read(context.workspace.inside(POOL_USED)))
    for finding in findings:
        context.reporter.emit(Found(stage="compile", finding=finding))
    return findings
