"""A source directory of this machine: what would stop a build in it, or make another one of it."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.model.source_tree import SourceTree
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["source_directory"]

_MOST = 5


def source_directory(case: Case) -> Iterator[Preflight]:
    """The directory that ``source.path`` names."""
    recipe, tree = case.recipe, case.tree
    if recipe is None:
        return
    if recipe.source.path is None:
        yield not_run("source-directory", "the source tree: it comes by commit or digest when it is locked")
        return
    if tree is None:
        yield not_run("source-directory", "the source tree: nobody looked")
        return
    if not tree.exists:
        yield failed(
            "source-directory",
            f"the source {tree.path} is not there",
            seen="no directory that can be read",
            wanted="a directory",
            fix="Correct source.path.",
            blames="recipe",
        )
        return
    brings = bool(
        recipe.source.overlay or recipe.source.prepare or recipe.source.patches or recipe.source.series
    )
    yield from _front_end(tree, brings=brings)
    yield from _repository(tree, wants_submodules=recipe.source.submodules == "recursive")
    yield from _stale(tree)
    yield from _files(tree)


def _front_end(tree: SourceTree, *, brings: bool) -> Iterator[Preflight]:
    if tree.has_front_end or brings:
        yield passed("source-directory", f"the source {tree.path}")
        return
    yield failed(
        "source-directory",
        f"the source {tree.path} has nothing that builds a wheel",
        seen="neither pyproject.toml nor setup.py at its top",
        wanted="one of them",
        fix="Correct source.path.",
        blames="recipe",
    )


def _repository(tree: SourceTree, *, wants_submodules: bool) -> Iterator[Preflight]:
    """What git, asked inside the build, would stumble over; and folders that a clone left empty."""
    if tree.empty_submodules and wants_submodules:
        yield failed(
            "source-submodules",
            f"submodules of {tree.path} are empty",
            seen=_few(tree.empty_submodules),
            wanted="their files",
            fix="Run in it: git submodule sync --recursive && git submodule update --init --recursive",
            blames="recipe",
        )
    if tree.git == "dangling":
        yield warned(
            "source-git",
            f".git of {tree.path} names a directory that is not there",
            seen="a file whose gitdir is gone, as a submodule of another repository has",
            wanted="a repository of its own, or none",
            fix="Clone it by itself, or name the repository in source.git.",
        )
    elif tree.owner_differs and tree.git:
        yield warned(
            "source-git",
            f"{tree.path} belongs to somebody else, and git refuses to look",
            seen="another owner",
            wanted="your own",
            fix="Change the owner, or name the repository in source.git.",
        )


def _stale(tree: SourceTree) -> Iterator[Preflight]:
    """A cache of CMake in the tree counts before everything that a recipe says."""
    if not tree.cache:
        return
    says = ", ".join(f"{key}={value}" for key, value in sorted(tree.cache_says.items()))
    yield failed(
        "source-stale-cache",
        f"{tree.path} holds the build directory of an earlier build: its cache counts before the recipe",
        seen=f"{tree.cache}{f' with {says}' if says else ''}",
        wanted="a tree that nobody built in",
        fix="Run in it: git clean -ffdx; or remove its build directory.",
        blames="recipe",
    )


def _files(tree: SourceTree) -> Iterator[Preflight]:
    if tree.not_executable:
        yield warned(
            "source-rights",
            f"scripts of {tree.path} cannot be started: rights were lost when it was copied",
            seen=_few(tree.not_executable),
            wanted="executable",
            fix="Copy it again with rights, or run in it: git checkout-index -f -a",
        )
    if tree.future:
        yield warned(
            "source-future",
            f"files of {tree.path} are newer than this machine's clock: ninja begins again and again",
            seen=_few(tree.future),
            wanted="times in the past",
            fix="Set the clock; or run in it: find . -newermt now -exec touch {} +",
        )


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
