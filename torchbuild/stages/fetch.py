"""fetch: every byte of the lock into the store, by digest. The only stage that may use the network."""

from __future__ import annotations

import shutil

from torchbuild.context import Context
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSubmodule
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "fetch"
REVISION = 1


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
    groups = (("build", lock.build_requires), ("run", lock.run_requires), ("verify", lock.verify_requires))
    return Plan(
        stage=NAME,
        key=stage_key(
            NAME, REVISION, lock_part(lock, "source", "build_requires", "run_requires", "verify_requires")
        ),
        needs=(),
        makes=("{work}/inputs",),
        commands=(),
        artifacts=lock.artifacts(),
        repositories=(*own, *lock.source.submodules),
        inputs=tuple((folder, item) for folder, items in groups for item in items),
    )


def run(plan: Plan, context: Context) -> Result:
    """Fetch what the store lacks, then lay the wheels out by name."""

    def progress(done: int, total: int, name: str) -> None:
        context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="bytes", what=name))

    context.network.fetch(plan.artifacts, progress)
    for number, repository in enumerate(plan.repositories):
        what = f"{repository.path} at {repository.commit[:12]}"
        context.reporter.emit(
            Progress(stage=NAME, done=number, total=len(plan.repositories), unit="files", what=what)
        )
        context.git.fetch_commit(repository.url, repository.commit)
    _lay_inputs(plan, context)
    size = sum(artifact.size or 0 for artifact in plan.artifacts)
    return Result(
        summary=f"{len(plan.artifacts)} files, {size / 1e6:.1f} MB, {len(plan.repositories)} repositories",
        evidence=(("files", str(len(plan.artifacts))), ("bytes", str(size))),
    )


def _lay_inputs(plan: Plan, context: Context) -> None:
    inputs = context.workspace.inside("{work}/inputs")
    shutil.rmtree(inputs, ignore_errors=True)
    for folder in ("build", "run", "verify"):
        (inputs / folder).mkdir(parents=True)
    for folder, artifact in plan.inputs:
        shutil.copyfile(context.trees.stored(artifact.sha256), inputs / folder / artifact.name)
