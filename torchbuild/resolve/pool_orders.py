"""What the shim is told of machines that compile for this one: the program, its variables, who is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchbuild.knowledge.distribution import distribution_engine
from torchbuild.model.command import expand
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import POOL_STATE, PoolMember, asked_members, scheduler

__all__ = ["pool_request", "pool_told"]

_Order = Callable[[Distribute, tuple[PoolMember, ...], tuple[str, str]], dict[str, Any]]


def pool_request(distribute: Distribute, compilers: tuple[str, str]) -> str:
    """What is asked of each machine before the build: one object of each compiler.

    Args:
        distribute: all machines.
        compilers: the C and the C++ compiler.
    """
    told = _ORDERS[distribute.engine](distribute, asked_members(distribute), compilers)
    return _text(told | {"compilers": list(compilers)})


def pool_told(distribute: Distribute, usable: tuple[PoolMember, ...], compilers: tuple[str, str]) -> str:
    """What the shim is told of those that can be used."""
    return _text(_ORDERS[distribute.engine](distribute, usable, compilers))


def _distcc(distribute: Distribute, hosts: tuple[PoolMember, ...], _: tuple[str, str]) -> dict[str, Any]:
    return {
        "program": distribution_engine(distribute.engine).program,
        "variable": "DISTCC_HOSTS",
        "environ": {
            # what fails there is compiled here, but by our launcher, which asks for the memory first
            "DISTCC_FALLBACK": "0",
            # with none it asks a machine that is gone again and again
            "DISTCC_BACKOFF_PERIOD": "1",
            "DISTCC_DIR": expand(POOL_STATE),
            "DISTCC_IO_TIMEOUT": str(distribute.timeout_s),
            "DISTCC_PAUSE_TIME_MSEC": "50",
        },
        "hosts": [_named(host) | {"spec": f"{host.endpoint}/{host.slots},lzo"} for host in hosts],
    }


def _icecc(
    distribute: Distribute, hosts: tuple[PoolMember, ...], compilers: tuple[str, str]
) -> dict[str, Any]:
    folder = expand(POOL_STATE)
    environ = {
        "ICECC_TEST_SOCKET": f"{folder}/socket",
        "ICECC_VERSION": f"{folder}/packed.tar.gz",
        "ICECC_REMOTE_CPP": "0",
        "ICECC_CARET_WORKAROUND": "0",  # else a warning has it compiled here once more
    }
    served = {"scheduler": scheduler(distribute), "folder": folder, "compilers": list(compilers)}
    return {**_away(folder, hosts), "environ": environ, "icecream": served}


def _sccache_dist(
    distribute: Distribute, hosts: tuple[PoolMember, ...], compilers: tuple[str, str]
) -> dict[str, Any]:
    folder = expand(POOL_STATE)
    scheme = "https" if (distribute.scheduler or "").startswith("https://") else "http"
    served = {
        "url": f"{scheme}://{scheduler(distribute)}",
        "program": distribution_engine(distribute.engine).program,
        "folder": folder,
        "compilers": list(compilers),
    }
    return {**_away(folder, hosts), "environ": {}, "sccache_dist": served}


def _away(folder: str, hosts: Iterable[PoolMember]) -> dict[str, Any]:
    """A script of the engine's own stands before a compiler: see `torchbuild.shim.pool_engines`."""
    named = [_named(host) | {"spec": host.endpoint} for host in hosts]
    return {"program": f"{folder}/away", "variable": "TORCHBUILD_POOL", "hosts": named}


def _named(host: PoolMember) -> dict[str, Any]:
    return {"name": host.endpoint, "slots": host.slots}


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


_ORDERS: Mapping[str, _Order] = {"distcc": _distcc, "icecc": _icecc, "sccache-dist": _sccache_dist}
