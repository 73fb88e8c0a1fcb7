"""Icecream as it is, scheduler and two machines in network namespaces: compilers are sent there, and compile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from build_hosts import icecream_hosts, why_none

from tests.e2e.test_distribute import tree

__all__ = ["tree"]

WHY = why_none("icecc", "iceccd", "icecc-scheduler")
if not WHY and "TORCHBUILD_TEST_ICECREAM" not in os.environ:
    WHY = "it packs and sends compilers, for minutes: set TORCHBUILD_TEST_ICECREAM"
pytestmark = [pytest.mark.skipif(bool(WHY), reason=WHY), pytest.mark.timeout(900)]


def test_a_build_sends_its_compilers_and_its_sources(
    fresh: Any, arguments: Any, tree: Path, tmp_path: Path
) -> None:
    """Through the relay, to machines that have no compiler of ours; what comes back is what is compiled here."""
    lock = arguments("recipe.toml", f"source.git={tree}", name=f"ice-{tmp_path.name.replace('_', '-')}"[:60])
    with icecream_hosts(2) as (port, hosts):
        named = ", ".join(f'"{host.address}/2"' for host in hosts)
        pool = f'machine.distribute={{engine="icecc", scheduler="127.0.0.1:{port}", hosts=[{named}]}}'

        ended = fresh.good("build", *lock, "--set", pool, "--until", "package", "--json")

        done = sum(host.compiled() for host in hosts)
    report, by_reference = ended.compiled
    assert by_reference["pool-compiler"]["outcome"] == "passed"
    assert "pool-used" in by_reference
    assert done > 2, "more than the two that they were asked for before"
    assert set(report["allowed"]) >= {f"127.0.0.1:{port}", f"{hosts[0].address}:10245"}
