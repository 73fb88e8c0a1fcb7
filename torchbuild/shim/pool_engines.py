"""What the engine of a pool needs while it works: distcc nothing, those with a scheduler a process."""

import os
import sys
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from .icecream import Icecream
from .pool import Pool
from .sccache_dist import SccacheDist

__all__ = ["TOKEN", "Engine", "engine", "open_pool", "token_beside"]

TOKEN = "pool-token"  # noqa: S105  a file's name
"""Beside the folder of the shim."""


class Engine(NamedTuple):
    """One engine, for as long as a command needs it."""

    start: Callable[[], str]
    """Why it cannot serve; empty where it does."""
    stop: Callable[[], Dict[str, int]]
    """How many compiles each machine did, by its address; empty where nobody counts."""


def engine(told: Dict[str, Any], token: str = "", tied: Optional[Callable[[], Any]] = None) -> Engine:
    """That of an order; nothing is started.

    Args:
        told: the order; ``icecream`` or ``sccache_dist`` in it is what that engine is told.
        token: for the scheduler; empty for none. Secret.
        tied: what makes a child end as soon as we do.
    """
    if "icecream" in told:
        icecream = Icecream(told["icecream"], tied)
        return Engine(icecream.start, lambda: _uncounted(icecream))
    if "sccache_dist" in told:
        sccache = SccacheDist(told["sccache_dist"], token, tied)
        return Engine(sccache.start, sccache.stop)
    return Engine(lambda: "", dict)


def _uncounted(icecream: Icecream) -> Dict[str, int]:
    icecream.stop()
    return {}


def open_pool(
    told: Dict[str, Any], token: str = "", tied: Optional[Callable[[], Any]] = None
) -> Tuple[Pool, Callable[[], None]]:
    """The pool of a build, and what ends that which serves it; an empty one where it cannot be served.

    Args:
        told: see `engine` and `Pool`.
        token: for the scheduler; empty for none. Secret.
        tied: what makes a child end as soon as we do.
    """
    serving = engine(told, token, tied)
    why = serving.start()
    if why:
        sys.stderr.write("torchbuild: all is compiled here: %s\n" % why)
    pool = Pool({} if why else told)
    pool.unserved = why

    def leave() -> None:
        pool.by = serving.stop()

    return pool, leave


def token_beside(shim: str) -> str:
    """What the scheduler asks for, as it lies there while a build runs; empty for nothing.

    Args:
        shim: the folder of the shim.
    """
    try:
        with open(os.path.join(os.path.dirname(shim), TOKEN), encoding="utf-8") as handle:
            return handle.read()
    except OSError:
        return ""
