"""Reports of CUDA that a configure lost without a word: the gate looks at what it made of the request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reports.shape import Entry
from torchbuild.model.lock import LockedPython
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.expectations import expectations
from torchbuild.shim import gate
from torchbuild.shim.cache import Entry as CacheEntry
from torchbuild.shim.cache import parse_cache

__all__ = ["ENTRIES", "PREVENTIONS"]

CACHE = Path(__file__).parents[1] / "data" / "caches" / "torch-2.6-cu124.txt"
PYTHON = LockedPython(
    executable="/usr/bin/python3.13", version="3.13.5", soabi="cpython-313-x86_64-linux-gnu", tag="cp313"
)
RECIPE = Recipe.model_validate(
    {
        "schema": 1,
        "name": "r",
        "source": {"path": "tree"},
        "wheel": {"version": "2.6.0"},
        "cuda": {"version": "12.4", "from": "apt", "archs": ("9.0+PTX",)},
    }
)
COMPILERS = {"CC": "/usr/bin/cuda-gcc", "CXX": "/usr/bin/cuda-g++", "LAUNCHER": "/usr/bin/ccache"}


def _refused(**changed: CacheEntry) -> set[str]:
    """Switches that the gate refuses in a real cache with other values for some."""
    cache = parse_cache(CACHE.read_text(encoding="utf-8")) | changed
    rows = [row.model_dump() for row in expectations(RECIPE, PYTHON, COMPILERS)]
    found = gate.compare(cache, rows)
    return {item["what"].partition(" ")[0] for item in found if item["outcome"] == "failed"}


def _silent_cpu_build(_folder: Path) -> None:
    """CMake finds no CUDA, warns, turns it off and goes on."""
    assert "USE_CUDA" in _refused(USE_CUDA=CacheEntry("BOOL", "OFF"))


def _first_failure_stays(_folder: Path) -> None:
    """Hidden in the cache of an earlier run, where a later one does not look for CUDA again."""
    assert "USE_CUDA" in _refused(USE_CUDA=CacheEntry("INTERNAL", "1"))


def _all_pass(_cache: object, item: dict[str, str]) -> dict[str, str]:
    return {
        "reference": item["reference"],
        "outcome": "passed",
        "what": item["key"],
        "seen": "",
        "wanted": "",
    }


def _without_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gate._COMPARE, "switch", _all_pass)


ENTRIES = {
    "C1": Entry(
        run=_silent_cpu_build,
        prevented_by=("gate-switch",),
        promise="A CUDA build that became a CPU build ends before one object is compiled.",
    ),
    "C2": Entry(
        run=_first_failure_stays,
        prevented_by=("gate-switch",),
        promise="A switch that an earlier run left off in the cache is not taken for on.",
    ),
}
PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {"gate-switch": _without_switches}
