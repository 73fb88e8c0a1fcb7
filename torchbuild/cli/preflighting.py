"""Gathering what preflights are given: this machine, the recipe by the facts, and what earlier runs took."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from torchbuild.advice.answer import Advice
from torchbuild.advice.of_recipe import has_wish, wish_of
from torchbuild.advice.solve import solve
from torchbuild.cli.places import Places
from torchbuild.edges.host_probe import look_at_host
from torchbuild.edges.process import capture
from torchbuild.edges.source_look import look_at_source
from torchbuild.errors import HostError
from torchbuild.model.host import Host
from torchbuild.model.lock import Lock
from torchbuild.model.part import PartName
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case, EarlierRun
from torchbuild.preflight.target import host_as_target
from torchbuild.toolchains.library_look import look_request
from torchbuild.toolchains.wished import LIBRARIES, wished_part

__all__ = ["case_of", "look"]

_LIBRARY_PATIENCE_S = 15.0
_MOST_RUNS = 20
_PUBLISHED = ("runfile", "redist", "wheels")


def look(recipe: Recipe | None, here: Places, out: Path) -> Host:
    """This machine, with the interpreter and the compilers that the recipe names."""
    places = {"store": here.store, "builds": here.builds, "out": out.absolute()}
    if recipe is None:
        return look_at_host(places)
    tools = recipe.toolchain
    return look_at_host(
        places, python=_python(recipe), nvcc=_nvcc(recipe), compilers=tuple({tools.cc: 0, tools.cxx: 0})
    )


def _python(recipe: Recipe) -> str:
    """The interpreter that a lock would ask for: by default our own, the one behind a virtual environment."""
    if recipe.image is not None or recipe.python.source == "uv":
        return ""
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    return recipe.python.path or recipe.python.version or own


def _nvcc(recipe: Recipe) -> str:
    """The device compiler of the recipe's own place on this machine, which nothing else leads to."""
    cuda = recipe.cuda
    if recipe.image is not None or cuda is None or cuda.source not in ("system", "apt"):
        return ""
    return f"{(cuda.path or '/usr').rstrip('/')}/bin/nvcc"


def case_of(
    recipe: Recipe | None,
    here: Places,
    *,
    recipe_dir: Path,
    out: Path,
    lock: Lock | None = None,
    target_is_host: bool = False,
) -> Case:
    """All that the preflights of a recipe need, or those of the machine alone.

    Args:
        recipe: what is to be built; None for the machine alone.
        here: where torchbuild keeps things.
        recipe_dir: the recipe's folder.
        out: where the wheel will be laid.
        lock: a fresh lock of the recipe, where there is one.
        target_is_host: whether this machine's driver and GPUs count as the target's.
    """
    host = look(recipe, here, out)
    if recipe is None:
        return Case(host=host)
    if target_is_host:
        recipe = host_as_target(recipe, host)
    tree = None
    if recipe.source.path is not None:
        tree = look_at_source(recipe_dir / recipe.source.path, recipe.source.path, time.time())
    return Case(
        host=host,
        recipe=recipe,
        lock=lock,
        advice=_advice(recipe, host, lock),
        libraries=dict(_libraries(recipe)),
        tree=tree,
        earlier=tuple(_earlier(here.builds, recipe.name)),
    )


def _advice(recipe: Recipe, host: Host, lock: Lock | None) -> Advice | None:
    if not has_wish(recipe):
        return None
    wish = wish_of(recipe)
    glibc = lock.glibc if lock is not None else host.glibc if recipe.image is None else ""
    if glibc and recipe.cuda is not None and recipe.cuda.source in _PUBLISHED:
        wish = wish.model_copy(update={"builder_glibc": glibc})
    return solve(wish)


def _libraries(recipe: Recipe) -> Iterator[tuple[PartName, Mapping[str, Any]]]:
    """What the libraries of this machine say of themselves, as a build asks them after fetching."""
    if recipe.image is not None or recipe.cuda is None:
        return
    for name in LIBRARIES:
        part = wished_part(recipe, name)
        if part is not None and part.provider == "system":
            home = recipe.cuda.path or "/usr"
            request = look_request(part, cuda_home=home, cxx="", scratch="", machine=recipe.target.machine)
            seen = _asked({**request, "roots": [], "program": ""})
            if seen is not None:
                yield name, seen


def _asked(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The answer of ``look_library.py``; the question lies in memory, as nothing is written where we look."""
    script = files("torchbuild.shim").joinpath("look_library.py")
    with as_file(script) as path, os.fdopen(os.memfd_create("request"), "wb") as question:
        question.write(json.dumps(request).encode())
        question.flush()
        number = question.fileno()
        argv = [sys.executable, "-I", str(path), f"/proc/self/fd/{number}"]
        try:
            seen = json.loads(capture(argv, timeout_s=_LIBRARY_PATIENCE_S, pass_fds=(number,)))
        except (HostError, ValueError):
            return None
    return seen if isinstance(seen, dict) and "library" in seen else None


def _earlier(builds: Path, name: str) -> Iterator[EarlierRun]:
    """Runs of a recipe by their reports, newest first. A report that cannot be read is none."""
    found = []
    pattern = f"{glob.escape(str(builds))}/{name}-*/report.json"
    paths = glob.glob(pattern)  # noqa: PTH207  the other raises where it may not look
    for path in _newest(paths)[:_MOST_RUNS]:
        try:
            report = json.loads(Path(path).read_bytes())
            if report["recipe"] != name:
                continue
            done = {
                row["stage"]: float(row["seconds"]) for row in report["stages"] if row["outcome"] == "done"
            }
            found.append(EarlierRun(run=str(report["run"]), started=str(report["started"]), seconds=done))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    yield from sorted(found, key=lambda run: run.started, reverse=True)


def _newest(paths: list[str]) -> list[str]:
    """The last written first; what is gone meanwhile is left out."""
    times = []
    for path in paths:
        with contextlib.suppress(OSError):
            times.append((Path(path).stat().st_mtime, path))
    return [path for _, path in sorted(times, reverse=True)]
