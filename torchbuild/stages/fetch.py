"""fetch: every byte of the lock into the store, by digest. The only stage that may use the network."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSubmodule
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "fetch"
REVISION = 1
INPUTS = "{work}/inputs"
_FOLDERS = ("build", "run", "verify")


class Plan(StagePlan):
    """What is fetched."""

    artifacts: tuple[Artifact, ...]
    """Files, each once."""
    repositories: tuple[LockedSubmodule, ...]
    """Commits: the tree's own (path ``.``) and its submodules'."""
    inputs: tuple[tuple[str, Artifact], ...]
    """Wheels that are laid out by name, with their folder: ``build``, ``run``, ``verify``."""


class Result(StageResult):
    """What was fetched."""


def plan(lock: Lock) -> Plan:
    """Files and commits of the lock."""
    own = (
        (LockedSubmodule(path=".", url=lock.source.url, commit=lock.source.commit),)
        if lock.source.commit
        else ()
    )
    groups = zip(_FOLDERS, (lock.build_requires, lock.run_requires, lock.verify_requires), strict=True)
    return Plan(
        stage=NAME,
        key=stage_key(
            NAME, REVISION, lock_part(lock, "source", "build_requires", "run_requires", "verify_requires")
        ),
        needs=(),
        makes=(INPUTS,),
        commands=(),
        artifacts=lock.artifacts(),
        repositories=(*own, *lock.source.submodules),
        inputs=tuple((folder, item) for folder, items in groups for item in items),
    )


def run(plan: Plan, context: Context) -> Result:
    """Fetch what the store lacks, then lay the wheels out by name, each compared with its digest."""

    def progress(done: int, total: int, name: str) -> None:
        context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="bytes", what=name))

    context.network.fetch(plan.artifacts, progress)
    _fetch_repositories(plan, context)
    _lay_inputs(plan, context)
    stored = {item.sha256: context.trees.stored(item.sha256).stat().st_size for item in plan.artifacts}
    size = sum(stored.values())
    return Result(
        summary=f"{len(stored)} files, {size / 1e6:.1f} MB, {len(plan.repositories)} repositories",
        evidence=(("bytes", str(size)), ("files", str(len(stored)))),
    )


def _fetch_repositories(plan: Plan, context: Context) -> None:
    for number, repository in enumerate(plan.repositories):
        what = f"{repository.path} at {repository.commit[:12]}"
        total = len(plan.repositories)
        context.reporter.emit(Progress(stage=NAME, done=number, total=total, unit="files", what=what))
        context.git.fetch_commit(repository.url, repository.commit)


def _lay_inputs(plan: Plan, context: Context) -> None:
    inputs = context.workspace.inside(INPUTS)
    context.trees.remove(inputs)
    for folder in _FOLDERS:
        context.trees.make(inputs / folder)
    for folder, artifact in plan.inputs:
        context.trees.copy(context.trees.stored(artifact.sha256), inputs / folder / artifact.name)
