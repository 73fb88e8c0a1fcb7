"""Machines that compile for this one: where they are, what a build is told of them, what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchbuild.knowledge.distribution import distribution_engine, what_stays
from torchbuild.model.finding import Finding
from torchbuild.model.recipe import Machine
from torchbuild.model.recipe_distribute import Distribute

__all__ = [
    "POOL",
    "POOL_ASKED",
    "POOL_STATE",
    "POOL_USED",
    "PoolMember",
    "asked_members",
    "judged",
    "members",
    "reached",
    "scheduler",
    "used",
]

POOL = "{shim}/pool.json"
"""Machines that the shim sends compiles to; absent where there are none."""
POOL_ASKED = "{shim}/pool-asked.json"
"""What `torchbuild.shim.look_pool` is asked."""
POOL_USED = "{shim}/pool-used.json"
"""What became of them."""
POOL_STATE = "{work}/tmp/pool"
"""Where the engine's program notes what it does."""

_PORTS = {"http": 80, "https": 443}
"""Where an address with a scheme names none."""


class PoolMember(NamedTuple):
    """One machine of a pool."""

    endpoint: str
    """``HOST:PORT``, its name in all that is told."""
    slots: int
    """Compiles at a time."""


def members(distribute: Distribute) -> tuple[PoolMember, ...]:
    """The machines, each once, with the engine's port where none is named."""
    port = distribution_engine(distribute.engine).port
    found: dict[str, int] = {}
    for text in distribute.hosts:
        place, _, slots = text.partition("/")
        found.setdefault(_with_port(place, port), int(slots) if slots else distribute.slots)
    return tuple(PoolMember(endpoint, slots) for endpoint, slots in found.items())


def scheduler(distribute: Distribute) -> str:
    """``HOST:PORT`` of who chooses among them; empty where nobody does."""
    if distribute.scheduler is None:
        return ""
    scheme, _, place = distribute.scheduler.rpartition("://")
    return _with_port(place, _PORTS.get(scheme) or distribution_engine(distribute.engine).scheduler)


def _with_port(place: str, port: int) -> str:
    return place if ":" in place.rpartition("]")[2] else f"{place}:{port}"


def asked_members(distribute: Distribute) -> tuple[PoolMember, ...]:
    """Those that the launcher sends to: each machine, or their scheduler for all of them."""
    every = members(distribute)
    chooses = scheduler(distribute)
    return (PoolMember(chooses, sum(member.slots for member in every)),) if chooses else every


def reached(machine: Machine) -> tuple[str, ...]:
    """All ``HOST:PORT`` that a build may reach: endpoints by name, and the machines that compile for it."""
    if machine.distribute is None:
        return machine.endpoints
    pool = [scheduler(machine.distribute), *(member.endpoint for member in members(machine.distribute))]
    return tuple(dict.fromkeys((*machine.endpoints, *(place for place in pool if place))))


def judged(distribute: Distribute, seen: Any) -> tuple[tuple[PoolMember, ...], tuple[Finding, ...]]:  # noqa: ANN401  any JSON value
    """The machines that compile as this one does, and what was found out about all.

    Args:
        distribute: all machines.
        seen: what `torchbuild.shim.look_pool` printed; None where it printed nothing.
    """
    if not isinstance(seen, dict) or seen.get("program"):
        engine = distribution_engine(distribute.engine)
        why = str(seen["program"]) if isinstance(seen, dict) else "the look at the pool left no word"
        what = f"{distribute.engine} cannot be used in the builder: all is compiled here"
        wanted = f"{engine.program}, such as from Debian's package {engine.package}"
        return (), (_warned("pool-program", what, why, wanted),)
    hosts = seen.get("hosts", {})
    findings, usable = [], []
    for member in asked_members(distribute):
        row = hosts.get(member.endpoint, {})
        finding = _member(member, {key: str(value) for key, value in row.items()})
        findings.append(finding)
        if finding.outcome == "passed":
            usable.append(member)
    return tuple(usable), tuple(findings)


def _member(member: PoolMember, row: Mapping[str, str]) -> Finding:
    name, own, seen = member.endpoint, row.get("own", ""), row.get("seen", "nothing")
    match row.get("outcome"):
        case "same":
            what = f"{name} compiles as this machine does, {member.slots} at a time"
            return Finding(reference="pool-compiler", outcome="passed", what=what, seen=seen, wanted=own)
        case "differs":
            what = f"{name} is left out: what it compiles is not what is compiled here"
            told = (
                seen if seen != own else f"{seen}, and another object: its assembler or its settings differ"
            )
            return _warned("pool-compiler", what, told, own)
        case _:
            return _warned("pool-silent", f"{name} is left out: it compiled nothing", seen, "an object")


def _warned(reference: str, what: str, seen: str, wanted: str) -> Finding:
    return Finding(reference=reference, outcome="warned", what=what, seen=seen, wanted=wanted)


def used(text: str | None) -> tuple[Finding, ...]:
    """What became of a pool, by what the shim left: what each machine did, what came back, what stayed."""
    try:
        told = json.loads(text or "{}")
        hosts, stayed = dict(told.get("hosts", {})), dict(told.get("stayed", {}))
        shares = _shares(dict(told.get("by", {})))
        return (*_unserved(str(told.get("unserved", ""))), *_hosts_used(hosts, shares), *_stayed(stayed))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return ()


def _shares(by: Mapping[str, int]) -> str:
    """Who did how many, where a scheduler chose and its engine counts."""
    return ": " + ", ".join(f"{count} by {name}" for name, count in sorted(by.items())) if by else ""


def _hosts_used(hosts: Mapping[str, Mapping[str, Any]], shares: str) -> Iterator[Finding]:
    for name, row in sorted(hosts.items()):
        done, sent, back = int(row["done"]), int(row["sent"]), int(row["back"])
        seen = f"{done} of {sent} that were sent{shares}"
        if back:
            why = "; ".join(f"{count} times: {words}" for words, count in sorted(dict(row["why"]).items()))
            what = (
                f"{name} did not compile all that it was sent: {back} came back and were compiled elsewhere"
            )
            yield _warned("pool-used", what, f"{seen}; {why}"[:1000], f"{sent} of {sent}")
        elif not sent:
            yield _warned("pool-used", f"{name} was never sent anything", seen, "some")
        else:
            yield Finding(reference="pool-used", outcome="passed", what=f"{name} compiled for us", seen=seen)


def _unserved(why: str) -> Iterator[Finding]:
    """What serves a pool began to serve before the build, and did not when ninja started."""
    if why:
        what = "no machine was sent anything: all was compiled here"
        yield _warned("pool-used", what, why[:1000], "an engine that serves while ninja works")


def _stayed(stayed: Mapping[str, int]) -> Iterator[Finding]:
    if stayed:
        words = {row.word: row.what for row in what_stays()}
        seen = ", ".join(f"{count} {words.get(word, word)}" for word, count in sorted(stayed.items()))
        what = "compiled here, because no other machine may"
        yield Finding(reference="pool-stayed", outcome="passed", what=what, seen=seen)
