"""source: the tree at its commit, patched, overlaid and prepared; then its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.model.command import Command
from torchbuild.model.lock import Lock, LockedOverlay, LockedPatch, LockedSource, LockedSubmodule
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress
from torchbuild.resolve.frontend import plain

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "source"
REVISION = 1
TREE = "{source}"


class Plan(StagePlan):
    """What the tree is made of."""

    source: LockedSource
    """The tree."""


class Result(StageResult):
    """What the tree is."""


def plan(lock: Lock) -> Plan:
    """Check out or unpack, patch, overlay, prepare."""
    copies = tuple(
        plain(lock, "/bin/cp", "-a", "--no-target-directory", item.path, f"{TREE}/{item.to}")
        for item in lock.source.overlays
        if item.path is not None
    )
    steps = tuple(plain(lock, *_found(item.argv), cwd=f"{TREE}/{item.cwd}") for item in lock.source.prepare)
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, "source", "epoch", "image")),
        needs=("toolchain",),
        makes=(TREE,),
        commands=(*copies, *steps),
        source=lock.source,
    )


def _found(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A program by its bare name is looked up on the build's own PATH."""
    return argv if "/" in argv[0] else ("/usr/bin/env", *argv)


def run(plan: Plan, context: Context) -> Result:
    """Make the tree anew. A tree that an earlier run left unfinished is thrown away."""
    context.trees.remove(context.workspace.inside(TREE))
    _lay_tree(plan.source, context)
    for number, patch in enumerate(plan.source.patches):
        _tell(context, number, len(plan.source.patches), patch.name)
        context.git.apply_patch(context.workspace.inside(TREE), _patch_file(patch, plan.source, context))
    for overlay in plan.source.overlays:
        _tell(context, 0, 0, overlay.to)
        _lay_overlay(overlay, context)
    for index, command in enumerate(plan.commands):
        _tell(context, index, len(plan.commands), command.argv[0])
        _prepare(command, context, append=index > 0)
    digest = context.trees.digest(context.workspace.inside(TREE))
    parts = {"patches": len(plan.source.patches), "submodules": len(plan.source.submodules)}
    return Result(
        summary=", ".join(f"{count} {name}" for name, count in parts.items()),
        evidence=(("tree", digest), *((name, str(count)) for name, count in parts.items())),
    )


def _tell(context: Context, done: int, total: int, what: str) -> None:
    context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="files", what=what))


def _lay_tree(source: LockedSource, context: Context) -> None:
    tree = context.workspace.inside(TREE)
    if source.kind == "git":
        _check_out(LockedSubmodule(path=".", url=source.url, commit=source.commit), tree, context)
        for module in source.submodules:
            _check_out(module, _free_place(module.path, context), context)
    elif source.artifact is not None:
        context.trees.unpack(source.artifact, tree, strip=source.strip)
    else:
        _copy_path(source, tree, context)


def _check_out(module: LockedSubmodule, place: Path, context: Context) -> None:
    _tell(context, 0, 0, module.path)
    bare = context.git.fetch_commit(module.url, module.commit)
    context.git.check_out(bare, module.commit, place, module.url)


def _copy_path(source: LockedSource, tree: Path, context: Context) -> None:
    context.trees.clone(context.recipe_dir / source.path, tree)
    digest = context.trees.digest(tree)
    if digest != source.tree:
        raise StageError(
            "source-changed",
            f"{source.path} is not what was locked",
            why=(f"seen tree {digest}", f"wanted tree {source.tree}"),
            fix="Run `torchbuild lock` and review what changed.",
        )


def _patch_file(patch: LockedPatch, source: LockedSource, context: Context) -> Path:
    """The patch as a file of its own, its digest checked."""
    kind, _, where = patch.origin.partition(":")
    if kind == "recipe":
        content = context.trees.stored(patch.sha256).read_bytes()
    elif source.series is not None:
        content = context.trees.member(source.series, where)
    else:
        raise _changed(patch, "no archive that holds it")
    seen = hashlib.sha256(content).hexdigest()
    if seen != patch.sha256:
        raise _changed(patch, f"sha256 {seen}")
    target = context.workspace.path / "patches" / f"{patch.sha256[:12]}-{Path(patch.name).name}"
    context.trees.write(target, content)
    return target


def _changed(patch: LockedPatch, seen: str) -> StageError:
    return StageError(
        "patch-changed",
        f"{patch.name} is not the patch that was locked",
        why=(f"seen {seen}", f"wanted sha256 {patch.sha256}"),
        fix="Run `torchbuild lock` and review what changed.",
    )


def _lay_overlay(overlay: LockedOverlay, context: Context) -> None:
    """The archive's contents, or those of its directory `only`, become the tree's directory `to`.

    A directory of the image is copied by a command of the plan, inside the build.
    """
    target, temp = _free_place(overlay.to, context), context.workspace.path / "overlay"
    context.trees.make(target.parent)
    if overlay.artifact is not None:
        context.trees.unpack(overlay.artifact, temp, strip=overlay.strip, only=overlay.only)
        context.trees.move(temp / (overlay.only or "."), target)
        context.trees.remove(temp)


def _free_place(path: str, context: Context) -> Path:
    """A place of the tree, links above it followed inside the build alone, with nothing there yet.

    A submodule's place is an empty directory; anything else there is not ours to remove.
    """
    place = context.workspace.inside(f"{TREE}/{path}")
    if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
        place.rmdir()
    elif place.is_symlink() or place.exists():
        raise StageError(
            "overlay-over-files",
            f"{path} is already in the tree",
            why=f"seen something at {place}; wanted an empty place",
            fix="Lay it elsewhere, or remove what is there with a patch.",
        )
    return place


def _prepare(command: Command, context: Context, *, append: bool) -> None:
    log = context.workspace.logs / f"{NAME}.log"
    done = context.executor.run(command, log=log, append=append)
    if done.exit_code != 0:
        raise StageError(
            "prepare-failed",
            f"a preparation step of the source failed: {command.argv[0]}",
            why=f"exit code {done.exit_code} of {' '.join(command.argv)}",
            fix="Correct source.prepare of the recipe; the lines above and the log say what it met.",
            evidence=done.tail[-20:],
            link=str(log),
        )
