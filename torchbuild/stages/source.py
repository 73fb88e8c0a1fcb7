"""source: the tree at its commit, patched, overlaid and prepared; then its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchbuild.context import Context
from torchbuild.errors import FetchError, StageError
from torchbuild.model.command import Command
from torchbuild.model.finding import Finding
from torchbuild.model.lock import Lock, LockedOverlay, LockedPatch, LockedSource, LockedSubmodule
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found, Progress
from torchbuild.resolve.frontend import plain
from torchbuild.resolve.orders import LAID

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "source"
REVISION = 2
TREE = "{source}"
KEPT = "{work}/source.kept"
"""Where the tree of a workspace for edits is while the new one is made."""
EDITS = "{work}/edits"
"""Edited files that had to give way."""
_MOST_NAMES = 10


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
    """Make the tree anew. A tree that an earlier run left unfinished is thrown away.

    In a workspace that people edit in, what changed is moved into the tree that is there.
    """
    if not context.is_dev:
        return _make(plan, context)
    _keep(context)
    result = _make(plan, context)
    return result.model_copy(update=_bring_up(result, context))


def _keep(context: Context) -> None:
    """Put a tree that was laid whole out of the way, unless a run that was killed did that before."""
    inside, trees = context.workspace.inside, context.trees
    if inside(KEPT).is_dir() or trees.read(inside(LAID)) is None or not inside(TREE).is_dir():
        return
    trees.move(inside(TREE), inside(KEPT))


def _bring_up(result: Result, context: Context) -> dict[str, Any]:
    """The kept tree takes over what changed, and its old place; what was laid is noted last."""
    inside, trees = context.workspace.inside, context.trees
    tree, kept = inside(TREE), inside(KEPT)
    states = trees.states(tree)
    findings, evidence = result.findings, result.evidence
    if kept.is_dir():
        before = json.loads(trees.read(inside(LAID)) or "{}")
        changed, gone, edits = trees.bring_up(tree, kept, before, states, inside(EDITS))
        trees.remove(tree)
        trees.move(kept, tree)
        evidence = (*evidence, ("changed", str(len(changed))), ("removed", str(len(gone))))
        findings = (*findings, *(_set_aside(name) for name in edits))
        for finding in findings[len(result.findings) :]:
            context.reporter.emit(Found(stage=NAME, finding=finding))
    trees.write(inside(LAID), json.dumps(states, indent=0, sort_keys=True))
    return {"findings": findings, "evidence": evidence}


def _set_aside(name: str) -> Finding:
    return Finding(
        reference="edit-set-aside",
        outcome="warned",
        what=f"{name} was edited, and the source has another content for it now: your file is in {EDITS}",
    )


def _make(plan: Plan, context: Context) -> Result:
    context.trees.remove(context.workspace.inside(TREE))
    _lay_tree(plan.source, context)
    for number, patch in enumerate(plan.source.patches):
        _tell(context, number, len(plan.source.patches), patch.name)
        context.git.apply_patch(context.workspace.inside(TREE), _patch_file(patch, plan.source, context))
    commands = enumerate(plan.commands)
    for overlay in plan.source.overlays:
        _tell(context, 0, 0, overlay.to)
        _lay_overlay(overlay, context)
        if overlay.path is not None:
            _execute(*next(commands), context)
    for index, command in commands:
        _tell(context, index, len(plan.commands), command.argv[0])
        _execute(index, command, context)
    tree = context.workspace.inside(TREE)
    _refuse_other_repositories(tree, context)
    finding = _pointers(tree, context)
    context.reporter.emit(Found(stage=NAME, finding=finding))
    digest = context.trees.digest(tree)
    parts = {"patches": len(plan.source.patches), "submodules": len(plan.source.submodules)}
    return Result(
        summary=", ".join(f"{count} {name}" for name, count in parts.items()),
        findings=(finding,),
        evidence=(("tree", digest), *((name, str(count)) for name, count in parts.items())),
    )


def _refuse_other_repositories(tree: Path, context: Context) -> None:
    found = context.trees.outside_repositories(tree)
    if found:
        raise StageError(
            "git-outside-tree",
            f"the tree leads git to a repository elsewhere: {found[0]}",
            why=(f"seen {_some(found)}", "wanted repositories that lie in the tree, with all they need"),
            fix="Take the source from git, or remove these files from the archive or the overlay.",
        )


def _pointers(tree: Path, context: Context) -> Finding:
    """Git fetches these files only with an extension, which does not act here: nothing would pin them."""
    found = context.trees.lfs_pointers(tree)
    what = f"{len(found)} files of the tree only name what git-lfs would put there: {_some(found)}"
    return Finding(
        reference="lfs-pointers",
        outcome="warned" if found else "passed",
        what=what if found else "every file of the tree is there itself",
    )


def _some(paths: tuple[str, ...]) -> str:
    return ", ".join(paths[:_MOST_NAMES]) + (", …" if len(paths) > _MOST_NAMES else "")


def _tell(context: Context, done: int, total: int, what: str) -> None:
    context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="files", what=what))


def _lay_tree(source: LockedSource, context: Context) -> None:
    tree = context.workspace.inside(TREE)
    if source.kind == "git":
        _check_out([(LockedSubmodule(path=".", url=source.url, commit=source.commit), tree)], context)
        for level in _levels(source.submodules):
            _check_out([(module, _free_place(module.path, context)) for module in level], context)
    elif source.artifact is not None:
        context.trees.unpack(source.artifact, tree, strip=source.strip)
    else:
        _copy_path(source, tree, context)
    _check_out([(module, _free_place(module.path, context)) for module in source.late], context)


def _levels(modules: tuple[LockedSubmodule, ...]) -> tuple[tuple[LockedSubmodule, ...], ...]:
    """Submodules, then those that lie inside them, and so on."""
    if not modules:
        return ()
    paths = {f"{module.path}/" for module in modules}
    top = tuple(
        item
        for item in modules
        if not any(f"{item.path}/" != path and item.path.startswith(path) for path in paths)
    )
    return (top, *_levels(tuple(item for item in modules if item not in top)))


def _check_out(places: Sequence[tuple[LockedSubmodule, Path]], context: Context) -> None:
    found = [(_cached(module, context), module.commit, place, module.url) for module, place in places]
    context.git.check_out_all(found, lambda index: _tell(context, 0, 0, places[index][0].path))


def _cached(module: LockedSubmodule, context: Context) -> Path:
    bare = context.git.cached(module.url, module.commit)
    if bare is None:
        raise FetchError(
            "cached-commit-gone",
            f"commit {module.commit} of {module.path} is not in the cache",
            why=(f"seen nothing of {module.url} under this commit", "only fetch may ask the network"),
            fix="Run the build again without --from: fetch brings back what is gone.",
        )
    return bare


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

    A directory of the image is copied by the next command of the plan, inside the build.
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


def _execute(index: int, command: Command, context: Context) -> None:
    log = context.workspace.logs / f"{NAME}.log"
    done = context.executor.run(command, log=log, append=index > 0)
    if done.exit_code != 0:
        raise StageError(
            "prepare-failed",
            f"a preparation step of the source failed: {command.argv[0]}",
            why=f"exit code {done.exit_code} of {' '.join(command.argv)}",
            fix="Correct source.prepare of the recipe; the lines above and the log say what it met.",
            evidence=done.tail[-20:],
            link=str(log),
        )
