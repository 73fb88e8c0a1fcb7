"""What the shim is told of machines that compile, on paper."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import asked_members, members
from torchbuild.resolve.pool_orders import pool_request, pool_told

COMPILERS = ("/usr/bin/cc", "/usr/bin/c++")


def asked(*hosts: str, **more: Any) -> Distribute:
    """As in a recipe."""
    return Distribute(hosts=hosts, **more)


def told_of(distribute: Distribute) -> dict[str, Any]:
    """All of them, for the build."""
    told: dict[str, Any] = json.loads(pool_told(distribute, asked_members(distribute), COMPILERS))
    return told


def test_the_shim_is_told_of_usable_machines_alone() -> None:
    """And the program falls back to nothing by itself: what fails is admitted here first."""
    distribute = asked("a/2", "b", timeout_s=30)

    told = json.loads(pool_told(distribute, members(distribute)[:1], ("cc", "c++")))

    assert told["hosts"] == [{"name": "a:3632", "slots": 2, "spec": "a:3632/2,lzo"}]
    assert told["program"] == "distcc"
    assert told["environ"]["DISTCC_FALLBACK"] == "0"
    assert told["environ"]["DISTCC_IO_TIMEOUT"] == "30"
    request = json.loads(pool_request(distribute, ("cc", "c++")))
    assert [host["name"] for host in request["hosts"]] == ["a:3632", "b:3632"]
    assert request["compilers"] == ["cc", "c++"]


def test_icecream_is_told_of_its_scheduler_and_what_to_pack() -> None:
    """What stands before a compiler is laid by the engine itself."""
    told = told_of(asked("10.0.0.1/8", "10.0.0.2", engine="icecc", scheduler="sched"))

    assert told["icecream"]["scheduler"] == "sched:8765"
    assert told["icecream"]["compilers"] == list(COMPILERS)
    assert told["program"] == told["icecream"]["folder"] + "/away"


@pytest.mark.parametrize(
    ("scheduler", "url"),
    [("sched", "http://sched:10600"), ("https://sched.example", "https://sched.example:443")],
)
def test_sccache_is_told_of_its_scheduler_by_url_and_never_of_a_token(scheduler: str, url: str) -> None:
    """An order lies in the workspace for good; the token comes another way."""
    told = told_of(asked("10.0.0.1/8", engine="sccache-dist", scheduler=scheduler, token="${WORD}"))

    assert told["sccache_dist"] == {
        "url": url,
        "program": "sccache",
        "folder": told["program"].removesuffix("/away"),
        "compilers": list(COMPILERS),
    }
    assert [host["slots"] for host in told["hosts"]] == [8]
    assert "WORD" not in json.dumps(told)
