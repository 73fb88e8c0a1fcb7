"""fetch: every byte of the lock into the store, by digest. The only stage that may use the network."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSubmodule
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress, StageStarted

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "restore", "run"]

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
    parts = lock_part(lock, "parts") if lock.parts else {}
    groups = zip(_FOLDERS, (lock.build_requires, lock.run_requires, lock.verify_requires), strict=True)
    return Plan(
        stage=NAME,
        key=stage_key(
            NAME,
            REVISION,
            lock_part(lock, "source", "build_requires", "run_requires", "verify_requires") | parts,
        ),
        needs=(),
        makes=(INPUTS,),
        commands=(),
        artifacts=lock.artifacts(),
        repositories=(*own, *lock.source.submodules, *lock.source.late),
        inputs=tuple((folder, item) for folder, items in groups for item in items),
    )


def run(plan: Plan, context: Context) -> Result:
    """Fetch what the store lacks, then lay the wheels out by name, each compared with its digest."""
    _bring(plan, context)
    _lay_inputs(plan, context)
    stored = {item.sha256: context.trees.stored(item.sha256).stat().st_size for item in plan.artifacts}
    size = sum(stored.values())
    return Result(
        summary=f"{len(stored)} files, {size / 1e6:.1f} MB, {len(plan.repositories)} repositories",
        evidence=(("bytes", str(size)), ("files", str(len(stored)))),
    )


def restore(plan: Plan, context: Context) -> bool:
    """Bring back what was fetched and is gone from the store or the cache, which outlive no clean-up.

    Nothing of the workspace is touched: what was built from the same bytes stays done.

    Returns:
        Whether anything was missing.
    """
    if not any(_lacks(item, context) for item in plan.artifacts) and all(
        context.git.cached(item.url, item.commit) for item in plan.repositories
    ):
        return False
    context.reporter.emit(StageStarted(stage=NAME, log=""))
    _bring(plan, context)
    return True


def _lacks(artifact: Artifact, context: Context) -> bool:
    path = context.store.get(artifact.sha256)
    if path is not None and artifact.size not in (None, path.stat().st_size):
        context.trees.stored(artifact.sha256)  # which says what is wrong with it
    return path is None


def _bring(plan: Plan, context: Context) -> None:
    def progress(done: int, total: int, name: str) -> None:
        context.reporter.emit(Progress(stage=NAME, done=done, total=total, unit="bytes", what=name))

    context.network.fetch(plan.artifacts, progress)
    there: set[int] = set()

    def note(index: int) -> None:
        there.add(index)
        repository, total = plan.repositories[index], len(plan.repositories)
        what = f"{repository.path} at {repository.commit[:12]}"
        context.reporter.emit(Progress(stage=NAME, done=len(there), total=total, unit="files", what=what))

    context.git.fetch_commits([(item.url, item.commit) for item in plan.repositories], note)


def _lay_inputs(plan: Plan, context: Context) -> None:
    inputs = context.workspace.inside(INPUTS)
    context.trees.remove(inputs)
    for folder in _FOLDERS:
        context.trees.make(inputs / folder)
    for folder, artifact in plan.inputs:
        context.trees.copy(context.trees.stored(artifact.sha256), inputs / folder / artifact.name)
