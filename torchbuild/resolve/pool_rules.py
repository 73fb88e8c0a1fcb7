"""What machines that compile for this one must be, beyond their shape."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.knowledge.distribution import distribution_engine
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import members, scheduler
from torchbuild.resolve.problems import shown

__all__ = ["pool_problems"]

_SCCACHE = "sccache-dist"


def pool_problems(recipe: Recipe) -> Iterator[Problem]:
    """A scheduler where the engine has one, ports that there are, and what one engine alone takes."""
    distribute = recipe.machine.distribute
    if distribute is None:
        return
    has_scheduler = distribution_engine(distribute.engine).scheduler > 0
    if has_scheduler != (distribute.scheduler is not None):
        seen = "nothing" if has_scheduler else shown(distribute.scheduler)
        wanted = f"HOST or HOST:PORT: {distribute.engine} asks a scheduler" if has_scheduler else "nothing: "
        wanted += "" if has_scheduler else f"{distribute.engine} has no scheduler"
        yield Problem(path="machine.distribute.scheduler", seen=seen, wanted=wanted)
    for place in (*(member.endpoint for member in members(distribute)), scheduler(distribute)):
        port = place.rpartition(":")[2]
        if port and int(port) >= 1 << 16:
            yield Problem(path="machine.distribute.hosts", seen=shown(place), wanted="a port below 65536")
    yield from _addresses(distribute) if distribute.engine == _SCCACHE else _other_engines(distribute)


def _addresses(distribute: Distribute) -> Iterator[Problem]:
    """Its scheduler names machines by address, and a build reaches what the recipe names."""
    for member in members(distribute):
        host = member.endpoint.rpartition(":")[0].strip("[]")
        try:
            ipaddress.ip_address(host)
        except ValueError:
            wanted = "an address: sccache-dist's scheduler names its machines by address"
            yield Problem(path="machine.distribute.hosts", seen=shown(host), wanted=wanted)


def _other_engines(distribute: Distribute) -> Iterator[Problem]:
    if distribute.token:
        wanted = f"nothing: {distribute.engine} asks for no token"
        yield Problem(path="machine.distribute.token", seen=shown(distribute.token), wanted=wanted)
    if "://" in (distribute.scheduler or ""):
        wanted = f"HOST or HOST:PORT: {distribute.engine}'s scheduler is no web server"
        yield Problem(path="machine.distribute.scheduler", seen=shown(distribute.scheduler), wanted=wanted)
