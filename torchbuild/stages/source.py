"""source: the tree at its commit, patched, overlaid and prepared; then its digest."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.model.command import Command
from torchbuild.model.lock import Lock, LockedOverlay, LockedPatch, LockedSource
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
    epoch: int
    """Time that unpacked files without one get."""


class Result(StageResult):
    """What the tree is."""


def plan(lock: Lock) -> Plan:
    """Check out or unpack, patch, overlay, prepare."""
    copies = tuple(
        plain(lock, "/bin/cp", "-a", "--no-target-directory", item.path, f"{TREE}/{item.to}")
        for item in lock.source.overlays
        if item.path is not None
    )
    steps = tuple(plain(lock, *item.argv, cwd=f"{TREE}/{item.cwd}") for item in lock.source.prepare)
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, "source", "epoch", "image")),
        needs=("toolchain",),
        makes=(TREE,),
        commands=(*copies, *steps),
        source=lock.source,
        epoch=lock.epoch,
    )


def run(plan: Plan, context: Context) -> Result:
    """Make the tree anew. A tree that an earlier run left unfinished is thrown away."""
    tree = context.workspace.inside(TREE)
    shutil.rmtree(tree, ignore_errors=True)
    _lay_tree(plan, context, tree)
    for number, patch in enumerate(plan.source.patches):
        _tell(context, number, len(plan.source.patches), patch.name)
        context.git.apply_patch(tree, _patch_file(patch, plan.source, context))
    for overlay in plan.source.overlays:
        if overlay.artifact is not None:
            _lay_overlay(overlay, context, tree)
        else:
            (tree / overlay.to).parent.mkdir(parents=True, exist_ok=True)
            _remove_empty(tree / overlay.to)
    for index, command in enumerate(plan.commands):
        _prepare(command, context, append=index > 0)
    digest = context.trees.digest(tree)
    return Result(
        summary=f"{len(plan.source.patches)} patches, {len(plan.source.submodules)} submodules",
        evidence=(("tree", digest), ("patches", str(len(plan.source.patches)))),
    )


def _tell(context: Context, done: int, total: int, what: str) -> None:
    context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="files", what=what))


def _lay_tree(plan: Plan, context: Context, tree: Path) -> None:
    source = plan.source
    if source.kind == "git":
        context.git.check_out(
            context.git.fetch_commit(source.url, source.commit), source.commit, tree, source.url
        )
        for module in source.submodules:
            _tell(context, 0, 0, module.path)
            bare = context.git.fetch_commit(module.url, module.commit)
            _remove_empty(tree / module.path)
            context.git.check_out(bare, module.commit, tree / module.path, module.url)
    elif source.artifact is not None:
        context.trees.unpack(source.artifact, tree, strip=source.strip)
    else:
        _copy_path(plan, context, tree)


def _copy_path(plan: Plan, context: Context, tree: Path) -> None:
    origin = context.recipe_dir / plan.source.path
    shutil.copytree(origin, tree, symlinks=True)
    digest = context.trees.digest(tree)
    if digest != plan.source.tree:
        raise StageError(
            "source-changed",
            f"{plan.source.path} is not what was locked",
            why=(f"seen tree {digest}", f"wanted tree {plan.source.tree}"),
            fix="Run `torchbuild lock` and review what changed.",
        )


def _patch_file(patch: LockedPatch, source: LockedSource, context: Context) -> Path:
    """The patch as a file of its own, its digest checked."""
    if patch.origin.startswith("recipe:"):
        content = context.trees.stored(patch.sha256).read_bytes()
    else:
        if source.series is None:
            raise _changed(patch, "no series")
        content = context.trees.member(source.series, patch.origin.partition(":")[2])
    seen = hashlib.sha256(content).hexdigest()
    if seen != patch.sha256:
        raise _changed(patch, seen)
    target = context.workspace.path / "patches" / f"{patch.sha256[:12]}-{Path(patch.name).name}"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)
    return target


def _changed(patch: LockedPatch, seen: str) -> StageError:
    return StageError(
        "patch-changed",
        f"{patch.name} is not the patch that was locked",
        why=(f"seen {seen}", f"wanted {patch.sha256}"),
        fix="Run `torchbuild lock` and review what changed.",
    )


def _lay_overlay(overlay: LockedOverlay, context: Context, tree: Path) -> None:
    """The archive's contents, or those of its directory `only`, become the tree's directory `to`."""
    if overlay.artifact is None:
        return
    target, temp = tree / overlay.to, context.workspace.path / "overlay"
    _remove_empty(target)
    shutil.rmtree(temp, ignore_errors=True)
    context.trees.unpack(overlay.artifact, temp, strip=overlay.strip, only=overlay.only)
    target.parent.mkdir(parents=True, exist_ok=True)
    (temp / (overlay.only or ".")).rename(target)
    shutil.rmtree(temp, ignore_errors=True)


def _remove_empty(path: Path) -> None:
    """A submodule's place is an empty directory; anything else there is not ours to remove."""
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
    elif path.exists():
        raise StageError(
            "overlay-over-files",
            f"{path.name} is already in the tree",
            why=f"seen files in {path}; wanted an empty place",
            fix="Lay the overlay elsewhere, or remove the files with a patch.",
        )


def _prepare(command: Command, context: Context, *, append: bool) -> None:
    log = context.workspace.logs / f"{NAME}.log"
    done = context.executor.run(command, log=log, append=append)
    if done.exit_code != 0:
        raise StageError(
            "prepare-failed",
            f"a preparation step of the source failed: {command.argv[0]}",
            why=f"exit code {done.exit_code} of {' '.join(command.argv)}",
            fix=f"Read {log}; correct source.prepare of the recipe.",
            evidence=done.tail[-20:],
            link=str(log),
        )
