"""Sccache's own scheduler and servers, between network namespaces: they are sent compilers and sources, and compile."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from build_hosts import until
from distribute import digests, lay_units
from sccache_hosts import sccache_hosts, why_no_sccache
from supervised import Yard

from tests.e2e.test_distribute import tree
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import judged
from torchbuild.resolve.pool_orders import pool_request, pool_told
from torchbuild.shim import look_pool

__all__ = ["tree"]

WHY = why_no_sccache()
pytestmark = [pytest.mark.skipif(bool(WHY), reason=WHY), pytest.mark.timeout(900)]
TOKEN = "t0ken-of-the-test"
COMPILERS = ("/usr/bin/cc", "/usr/bin/c++")


def test_one_of_two_servers_dies_and_objects_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both compile, in their sandboxes; what the dead one had comes back; each object is as a local one."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin:/usr/sbin:/sbin")
    yard = Yard(tmp_path / "yard")
    lay_units(yard, 16)
    assert yard.run(yard.ninja, "-j2")[0] == 0
    here = digests(yard.build)
    yard.clean()
    with sccache_hosts(2, TOKEN) as (port, hosts):
        named = tuple(f"{host.address}/2" for host in hosts)
        distribute = Distribute(engine="sccache-dist", scheduler=f"127.0.0.1:{port}", hosts=named)
        lay(yard, distribute)
        before = [host.compiled() for host in hosts]
        with yard.start(yard.ninja, "-j2", PATH=PATH(yard)) as ninja:
            until(lambda: all(now.compiled() > was for now, was in zip(hosts, before, strict=True)), 300)
            hosts[0].kill()
            said, _ = ninja.communicate(timeout=600)

    assert ninja.returncode == 0, said
    assert digests(yard.build) == here
    used = json.loads((yard.shim / "pool-used.json").read_text(encoding="utf-8"))
    assert set(used["by"]) == {f"{host.address}:10501" for host in hosts}, used
    (row,) = used["hosts"].values()
    assert sum(used["by"].values()) == row["done"] < 16


def PATH(yard: Yard) -> str:  # noqa: N802  the variable's name
    """With our sccache on it."""
    return f"{yard.bin}:{sysconfig.get_path('scripts')}:/usr/bin:/bin"


def lay(yard: Yard, distribute: Distribute) -> None:
    """Look at the pool as a build does, and order what can be used."""
    text = pool_request(distribute, COMPILERS).replace("/torchbuild/", f"{yard.root}/")
    usable, findings = judged(distribute, look_pool.look(json.loads(text), TOKEN))
    assert usable, findings
    told = pool_told(distribute, usable, COMPILERS).replace("/torchbuild/", f"{yard.root}/")
    (yard.shim / "pool.json").write_text(told, encoding="utf-8")
    (yard.root / "pool-token").write_text(TOKEN, encoding="utf-8")


@pytest.mark.skipif(shutil.which("sccache") is None, reason="no sccache where a system has its programs")
def test_a_build_sends_its_compilers_and_its_sources(
    fresh: Any, arguments: Any, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the relay, with the token, to machines that have no compiler of ours."""
    monkeypatch.setenv("WORD", TOKEN)
    lock = arguments("recipe.toml", f"source.git={tree}", name=f"sdr-{tmp_path.name.replace('_', '-')}"[:60])
    with sccache_hosts(2, TOKEN) as (port, hosts):
        named = ", ".join(f'"{host.address}/2"' for host in hosts)
        pool = f'engine="sccache-dist", scheduler="127.0.0.1:{port}", hosts=[{named}], token="${{WORD}}"'

        ended = fresh.good(
            "build", *lock, "--set", f"machine.distribute={{{pool}}}", "--until", "package", "--json"
        )

        done = sum(host.compiled() for host in hosts)
    _, by_reference = ended.compiled
    assert by_reference["pool-compiler"]["outcome"] == "passed"
    assert f" by {hosts[0].address}:10501" in by_reference["pool-used"]["seen"]
    assert done > 2, "more than the two that they were asked for before"
