"""Interpreter, toolkit and libraries of a lock: what is asked before the builder, and what after the tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.cli.managed_python import Managed, managed_python
from torchbuild.edges.first_use import FirstUse
from torchbuild.edges.uv_python import uv_document
from torchbuild.errors import FetchError
from torchbuild.model.finding import Finding
from torchbuild.resolve.tree_python import tree_python
from torchbuild.toolchains.library_builder import BUNDLED, BUNDLED_ANSWER, bundled_answer
from torchbuild.toolchains.provider import Answers
from torchbuild.toolchains.torch_tree import FILES, archs_sayable, read_tree, refuse_archs

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.cli.source_answers import SourceAnswer
    from torchbuild.model.artifact import Artifact
    from torchbuild.model.lock import LockedSubmodule
    from torchbuild.model.part import LockedPart
    from torchbuild.model.recipe import Recipe
    from torchbuild.toolchains.provider import Question

__all__ = ["bundled_parts", "interpreter_to_lock", "weigh_tree"]

Tell = Callable[[str], None]


def interpreter_to_lock(recipe: Recipe, there: World, tell: Tell) -> Managed | None:
    """The interpreter that uv manages, settled before the builder is looked at; None for one of the builder.

    Raises:
        ConflictError, FetchError, HostError: as `managed_python`.
    """
    if recipe.python.source != "uv":
        return None
    tell(f"settling the interpreter: Python {recipe.python.version} of uv")
    first_use = FirstUse(there.downloads)

    def fetch(question: Question) -> tuple[Artifact, Path]:
        seen = first_use.files({question.locator: question.sha256}, lambda _done, _total, _name: None)
        artifact = seen.artifacts[question.locator]
        stored = there.store.get(artifact.sha256)
        if stored is None:
            raise FetchError(
                "stored-file-gone",
                f"sha256 {artifact.sha256} is not in the store",
                why="seen nothing under this digest; it was there a moment ago",
                fix="Run the same command again, and no other that cleans the store meanwhile.",
            )
        return artifact, stored

    return managed_python(recipe, uv_document, fetch)


def weigh_tree(recipe: Recipe, answer: SourceAnswer, version: str, tell: Tell) -> None:
    """Whether the tree is for this interpreter, and can say each architecture; what is only doubt is told.

    Raises:
        ConflictError: ``python-not-for-tree``, ``torch-architecture-unknown``.
    """
    findings: list[Finding] = [tree_python(answer.pyproject.decode("utf-8", "replace"), version)]
    if recipe.cuda is not None:
        asks = read_tree({path: answer.tree[path] for path in FILES if path in answer.tree})
        if asks.item:
            findings += refuse_archs(asks, recipe.cuda.archs, recipe.wheel.version)
        else:
            findings += archs_sayable(asks, recipe.cuda.archs)
    for finding in findings:
        if finding.outcome == "warned":
            tell(f"warning: {finding.what}: seen {finding.seen}, wanted {finding.wanted}")


def bundled_parts(
    recipe: Recipe, answer: SourceAnswer, late: tuple[LockedSubmodule, ...]
) -> tuple[LockedPart, ...]:
    """NCCL where the tree builds its own; known only with the late sources of the tree.

    Raises:
        ConflictError: ``bundled-nccl-missing``, ``bundled-nccl-differs``.
    """
    if recipe.nccl is None or recipe.nccl.source != "bundled":
        return ()
    pin = bundled_answer(
        [(module.path, module.commit) for module in late],
        [(module.path, module.commit) for module in answer.source.submodules],
        [overlay.to for overlay in recipe.source.overlay],
    )
    return (BUNDLED["nccl"].part(recipe, Answers(builder={BUNDLED_ANSWER: pin})),)
