"""What machines that compile for this one must be, beyond their shape."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.knowledge.distribution import distribution_engine
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.distribution import members, scheduler
from torchbuild.resolve.problems import shown

__all__ = ["pool_problems"]


def pool_problems(recipe: Recipe) -> Iterator[Problem]:
    """A scheduler where the engine has one, and ports that there are."""
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
