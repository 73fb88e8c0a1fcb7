"""The compiler cache of a build, whichever it is: what it is told, and what it says at the end.

The order names it: ``cache``, the program, and ``statslog``, where a word for each call is left. A backend's
variables, which may hold secrets, lie in a file that only we may read and that is there while the build runs.
"""

import json
import os
from typing import Any, Callable, Dict, Optional, Set

from .cache import parse_cache
from .counts import together
from .sccache import Sccache, compilers_of

__all__ = ["REMOTE", "CompilerCache"]

REMOTE = "cache-remote.json"
"""Beside the folder of the order."""
_STAND_INS = "behind"


class CompilerCache:
    """For one call of ninja.

    Args:
        order: what the stage says.
        here: where the shim lies.
        folder: short, our own, removed by whoever made it.
    """

    def __init__(self, order: Dict[str, Any], here: str, folder: str) -> None:
        self._order, self._here, self._folder = order, here, folder
        self._server: Optional[Sccache] = None

    @property
    def server(self) -> int:
        """Process of a server that starts compilers; 0 for none."""
        return self._server.pid if self._server is not None else 0

    def start(self, tied: Optional[Callable[[], Any]]) -> Dict[str, str]:
        """What ninja, and all below it, must have in its environment.

        Args:
            tied: what makes a child end as soon as we do.
        """
        if os.path.basename(self._order.get("cache") or "") == "sccache":
            return self._serve(tied)
        statslog = self._order.get("statslog")
        return {"CCACHE_STATSLOG": statslog, **self._configured()} if statslog else {}

    def stop(self, asked: Set[str]) -> Dict[str, Any]:
        """End what was started; for the stage.

        Args:
            asked: outputs, absolute, for which a compiler ran.
        """
        if self._server is None:
            return {}
        said = self._server.stop(asked, self._order.get("statslog"))
        try:
            with open(os.path.join(self._here, "compile.json"), encoding="utf-8") as handle:
                return _both(json.load(handle)["compiler_cache"], said)
        except (OSError, ValueError, KeyError, TypeError):  # this is the first call of ninja
            return said

    def _serve(self, tied: Optional[Callable[[], Any]]) -> Dict[str, str]:
        path = os.path.join(self._order["build_dir"], "CMakeCache.txt")
        with open(path, encoding="utf-8", errors="replace", newline="") as handle:
            entries = parse_cache(handle.read())
        self._server = Sccache(
            self._order["cache"],
            self._folder,
            os.path.join(self._here, _STAND_INS),
            os.path.join(self._here, "launch"),
            compilers_of(entries),
        )
        return self._server.start(self._remote(), tied)

    def _remote(self) -> Dict[str, str]:
        try:
            with open(os.path.join(os.path.dirname(self._here), REMOTE), encoding="utf-8") as handle:
                told = json.load(handle)
        except (OSError, ValueError):
            return {}
        return {str(name): str(value) for name, value in dict(told).items()}

    def _configured(self) -> Dict[str, str]:
        """A configuration with the backend in it: of a variable everything that a build starts could tell."""
        backend = self._remote().get("CCACHE_REMOTE_STORAGE")
        if not backend:
            return {}
        text = ""
        try:
            with open(os.path.join(os.environ.get("CCACHE_DIR", ""), "ccache.conf"), encoding="utf-8") as own:
                text = own.read().rstrip("\n") + "\n"
        except OSError:
            pass
        path = os.path.join(self._folder, "ccache.conf")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "remote_storage = %s\n" % backend)
        return {"CCACHE_CONFIGPATH": path}


def _both(before: Dict[str, Any], now: Dict[str, Any]) -> Dict[str, Any]:
    """Of two calls of ninja: counts are added, and what went wrong in either is told."""
    cache = dict(before["cache"], **now["cache"])
    if before["cache"] and now["cache"]:
        cache["stats"] = together(before["cache"]["stats"], now["cache"]["stats"])
    return {
        **before,
        **now,
        "cache": cache,
        "backend": now["backend"] or before["backend"],
        "served": bool(before["served"] and now["served"]),
    }
