"""What a recipe must be beyond types: keys that go together, paths that stay inside, tables acted on."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from packaging.version import InvalidVersion, Version

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Overlay, Recipe, Source

__all__ = ["check_rules", "local_paths", "unsupported"]

_Pair = tuple[str, str, str]
"""Dotted path, seen, wanted."""


def check_rules(recipe: Recipe, *, file: str, lines: Mapping[str, int]) -> None:
    """Raise RecipeError with all problems, or RecipeError(recipe-not-supported-yet)."""
    wrong = [*_source(recipe.source), *_python(recipe), *_wheel(recipe), *_paths(recipe)]
    if wrong:
        raise RecipeError(
            "recipe-invalid",
            f"{len(wrong)} problem{'s' if len(wrong) != 1 else ''} in {file}",
            problems=_problems(wrong, file, lines),
            fix=f"Correct {file}; `torchbuild explain KEY` tells what each key means.",
        )
    later = list(unsupported(recipe))
    if later:
        raise RecipeError(
            "recipe-not-supported-yet",
            f"{file} asks for what this version cannot do yet",
            problems=_problems(later, file, lines),
            fix="Remove these keys, or use a version of torchbuild that acts on them.",
        )


def _problems(pairs: list[_Pair], file: str, lines: Mapping[str, int]) -> tuple[Problem, ...]:
    return tuple(
        Problem(
            path=path,
            seen=seen,
            wanted=wanted,
            line=lines.get(path, lines.get(path.partition(".")[0])),
            file=file,
        )
        for path, seen, wanted in pairs
    )


def _source(source: Source) -> Iterator[_Pair]:
    named = [key for key in ("git", "archive", "path") if getattr(source, key) is not None]
    if len(named) != 1:
        yield "source", " and ".join(named) or "nothing", "exactly one of git, archive, path"
    if source.git is not None and not source.ref:
        yield "source.ref", "nothing", "a tag, branch or commit: git is given"
    if source.git is None and source.ref is not None:
        yield "source.ref", repr(source.ref), "no ref without git"
    if source.git is None and source.epoch is None:
        yield (
            "source.epoch",
            "nothing",
            "seconds since 1970: an archive or a path has no commit to take the time from",
        )
    yield from _digest("source", source.archive, source.sha256)
    if source.series is not None:
        yield from _digest("source.series", source.series.archive, source.series.sha256)
    for index, overlay in enumerate(source.overlay):
        yield from _overlay(f"source.overlay[{index}]", overlay)


def _digest(where: str, archive: str | None, sha256: str | None) -> Iterator[_Pair]:
    """A publisher's digest is read for ``debian:`` locators; any other archive needs one in the recipe."""
    if archive is not None and sha256 is None and not archive.startswith("debian:"):
        yield f"{where}.sha256", "nothing", f"the digest of {archive}"
    if archive is None and sha256 is not None:
        yield f"{where}.sha256", sha256, "no digest without an archive"


def _overlay(where: str, overlay: Overlay) -> Iterator[_Pair]:
    if (overlay.archive is None) == (overlay.path is None):
        yield where, "archive and path" if overlay.path else "nothing", "exactly one of archive, path"
    yield from _digest(where, overlay.archive, overlay.sha256)
    if overlay.path is not None and not overlay.path.startswith("/"):
        yield f"{where}.path", repr(overlay.path), "an absolute directory of the builder image"
    if overlay.path is not None and (overlay.only is not None or overlay.strip):
        yield f"{where}.only", "only or strip with path", "only and strip belong to archives"


def _python(recipe: Recipe) -> Iterator[_Pair]:
    python = recipe.python
    if python.source == "path" and (python.path is None or not python.path.startswith("/")):
        yield "python.path", repr(python.path), 'an absolute path: from = "path"'
    if python.source != "path" and python.path is not None:
        yield "python.path", repr(python.path), 'no path unless from = "path"'
    if python.version is None and recipe.image is not None and python.source == "system":
        yield "python.version", "nothing", "a version such as 3.13: the interpreter is the image's"


def _wheel(recipe: Recipe) -> Iterator[_Pair]:
    try:
        version = Version(recipe.wheel.version)
    except InvalidVersion:
        yield "wheel.version", repr(recipe.wheel.version), "a PEP 440 version such as 2.6.0"
        return
    if version.local is not None:
        yield (
            "wheel.version",
            repr(recipe.wheel.version),
            f"no local label here: set wheel.local = {version.local!r}",
        )


def local_paths(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Each path of the recipe that means a file beside it, with its dotted key."""
    source = recipe.source
    candidates: list[tuple[str, str | None]] = [
        ("source.path", source.path),
        ("source.archive", source.archive),
    ]
    candidates += [(f"source.patches[{i}]", patch) for i, patch in enumerate(source.patches)]
    candidates += [(f"source.overlay[{i}].archive", item.archive) for i, item in enumerate(source.overlay)]
    if source.series is not None:
        candidates.append(("source.series.archive", source.series.archive))
        if source.series.archive is None:
            candidates.append(("source.series.path", source.series.path))
    for key, value in candidates:
        if value is not None and "://" not in value and not value.startswith(("debian:", "pypi:", "nvidia:")):
            yield key, value


def _paths(recipe: Recipe) -> Iterator[_Pair]:
    for index, overlay in enumerate(recipe.source.overlay):
        if _escapes(overlay.to):
            yield f"source.overlay[{index}].to", repr(overlay.to), "a directory inside the tree"
    for index, prepare in enumerate(recipe.source.prepare):
        if _escapes(prepare.cwd):
            yield f"source.prepare[{index}].cwd", repr(prepare.cwd), "a directory inside the tree"


def _escapes(path: str) -> bool:
    return path.startswith("/") or posixpath.normpath(path).split("/")[0] == ".."


def unsupported(recipe: Recipe) -> Iterator[_Pair]:
    """What the model accepts and nothing acts on yet."""
    for table in ("cuda", "cudnn", "nccl", "openmp", "companions"):
        if getattr(recipe, table):
            yield table, "set", "not supported yet"
    for key in ("driver", "gpus", "cpu"):
        if getattr(recipe.target, key):
            yield f"target.{key}", "set", "not supported yet"
    choices = (
        ("python.from", recipe.python.source, {"system", "path"}),
        ("build.preset", recipe.build.preset, {"minimal", "none"}),
        ("wheel.runtime", recipe.wheel.runtime, {"builder"}),
        ("wheel.triton", recipe.wheel.triton, {"none"}),
        ("wheel.debug", recipe.wheel.debug, {"keep"}),
        ("verify.level", recipe.verify.level, {"static", "cpu"}),
        ("toolchain.linker", recipe.toolchain.linker, {"default", "mold"}),
        ("blas.provider", recipe.blas.provider if recipe.blas else "generic", {"openblas", "generic"}),
        ("blas.from", recipe.blas.source if recipe.blas else "system", {"system"}),
    )
    for key, value, done in choices:
        if value not in done:
            yield key, repr(value), "not supported yet; one of " + ", ".join(sorted(done))
    if recipe.verify.upstream_tests:
        yield "verify.upstream_tests", "set", "not supported yet"
