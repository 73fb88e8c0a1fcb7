"""Machines that compile for this one: where they are, what a build is told of them, what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchbuild.knowledge.distribution import distribution_engine, what_stays
from torchbuild.model.command import expand
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
    "pool_request",
    "pool_told",
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
    place = distribute.scheduler.partition("/")[0]
    return _with_port(place, distribution_engine(distribute.engine).scheduler)


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


def pool_request(distribute: Distribute, compilers: tuple[str, str]) -> str:
    """What is asked of each machine before the build: one object of each compiler.

    Args:
        distribute: all machines.
        compilers: the C and the C++ compiler.
    """
    told = _told(distribute, asked_members(distribute), compilers)
    return _text(told | {"compilers": list(compilers)})


def pool_told(distribute: Distribute, usable: tuple[PoolMember, ...], compilers: tuple[str, str]) -> str:
    """What the shim is told of those that can be used."""
    return _text(_told(distribute, usable, compilers))


def _told(
    distribute: Distribute, hosts: tuple[PoolMember, ...], compilers: tuple[str, str]
) -> dict[str, Any]:
    folder = expand(POOL_STATE)
    named = [{"name": host.endpoint, "slots": host.slots} for host in hosts]
    if distribute.engine == "icecc":
        served = {"scheduler": scheduler(distribute), "folder": folder, "compilers": list(compilers)}
        return {
            "program": f"{folder}/away",
            "variable": "TORCHBUILD_POOL",
            "environ": {
                "ICECC_TEST_SOCKET": f"{folder}/socket",
                "ICECC_VERSION": f"{folder}/packed.tar.gz",
                "ICECC_REMOTE_CPP": "0",
                "ICECC_CARET_WORKAROUND": "0",  # else a warning has it compiled here once more
            },
            "hosts": [host | {"spec": host["name"]} for host in named],
            "icecream": served,
        }
    return {
        "program": distribution_engine(distribute.engine).program,
        "variable": "DISTCC_HOSTS",
        "environ": {
            # what fails there is compiled here, but by our launcher, which asks for the memory first
            "DISTCC_FALLBACK": "0",
            # with none it asks a machine that is gone again and again
            "DISTCC_BACKOFF_PERIOD": "1",
            "DISTCC_DIR": folder,
            "DISTCC_IO_TIMEOUT": str(distribute.timeout_s),
            "DISTCC_PAUSE_TIME_MSEC": "50",
        },
        "hosts": [host | {"spec": f"{host['name']}/{host['slots']},lzo"} for host in named],
    }


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


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
        return (*_hosts_used(hosts), *_stayed(stayed))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return ()


def _hosts_used(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    for name, row in sorted(hosts.items()):
        done, sent, back = int(row["done"]), int(row["sent"]), int(row["back"])
        seen = f"{done} of {sent} that were sent"
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


def _stayed(stayed: Mapping[str, int]) -> Iterator[Finding]:
    if stayed:
        words = {row.word: row.what for row in what_stays()}
        seen = ", ".join(f"{count} {words.get(word, word)}" for word, count in sorted(stayed.items()))
        what = "compiled here, because no other machine may"
        yield Finding(reference="pool-stayed", outcome="passed", what=what, seen=seen)
