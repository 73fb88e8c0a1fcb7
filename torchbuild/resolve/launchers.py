"""What stands before each compiler, so that memory is asked about before it starts.

A compiler cache calls it by itself, where it has nothing. Without a cache CMake is told to: that is how this
machine builds and not what is built, so it stands in no lock. It stands before sccache too, which has no way
to call it, and a server that starts the compilers; see `torchbuild.shim.sccache`.
"""

from __future__ import annotations

import posixpath

from torchbuild.model.command import expand
from torchbuild.model.lock import Expectation
from torchbuild.resolve.compiler_caches import SCCACHE

__all__ = ["LAUNCHER", "launched", "launchers"]

LAUNCHER = "{shim}/launch"
"""The program."""
_KEYS = tuple(f"CMAKE_{language}_COMPILER_LAUNCHER" for language in ("C", "CXX", "CUDA"))


def launchers(expect: tuple[Expectation, ...]) -> dict[str, str]:
    """Variables that put it before each compiler that nothing stands before, or sccache."""
    return {item.key: LAUNCHER for item in expect if _is_free(item)}


def launched(expect: tuple[Expectation, ...]) -> tuple[Expectation, ...]:
    """What the gate compares, with it where a lock expects nothing before a compiler."""
    return tuple(
        item.model_copy(update={"value": expand(LAUNCHER)}) if _is_free(item) else item for item in expect
    )


def _is_free(item: Expectation) -> bool:
    return item.key in _KEYS and (not item.value or posixpath.basename(item.value) == SCCACHE)
