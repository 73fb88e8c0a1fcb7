"""Interpreter, toolkit and libraries of a lock: what is asked before the builder, and what after the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from torchbuild.cli.lock_progress import told_progress
from torchbuild.cli.managed_python import Managed, managed_python
from torchbuild.edges.first_use import FirstUse
from torchbuild.edges.uv_python import uv_document
from torchbuild.errors import FetchError
from torchbuild.knowledge.cuda import arch_window
from torchbuild.model.finding import Finding
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.resolve.tree_python import tree_python
from torchbuild.toolchains.library_builder import BUNDLED, BUNDLED_ANSWER, bundled_answer
from torchbuild.toolchains.provider import Answers
from torchbuild.toolchains.providers import providers_of
from torchbuild.toolchains.torch_tree import FILES, TreeAsks, read_tree, refuse_archs

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.cli.source_answers import SourceAnswer
    from torchbuild.model.artifact import Artifact
    from torchbuild.model.lock import LockedSubmodule
    from torchbuild.model.part import LockedPart
    from torchbuild.model.recipe import Recipe
    from torchbuild.model.recipe_toolchain import Cuda
    from torchbuild.toolchains.provider import Question

__all__ = ["bundled_parts", "interpreter_to_lock", "refuse_early", "weigh_tree", "with_tree"]

Tell = Callable[[str], None]


def interpreter_to_lock(recipe: Recipe, there: World, tell: Tell) -> tuple[Managed | None, tuple[str, ...]]:
    """The interpreter that uv manages, settled before the builder is looked at; None for one of the builder.

    And what nobody answers for of it, each in a sentence.

    Raises:
        ConflictError, FetchError, HostError: as `managed_python`.
    """
    if recipe.python.source != "uv":
        return None, ()
    tell(f"settling the interpreter: Python {recipe.python.version} of uv")
    first_use = FirstUse(there.downloads)
    unpinned: list[str] = []

    def fetch(question: Question) -> tuple[Artifact, Path]:
        seen = first_use.files({question.locator: question.sha256}, told_progress(tell))
        unpinned.extend(seen.unpinned)
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

    return managed_python(recipe, uv_document, fetch), tuple(unpinned)


def weigh_tree(recipe: Recipe, answer: SourceAnswer, version: str, tell: Tell) -> dict[str, str]:
    """Whether the tree is for this interpreter, and can say each architecture; what is only doubt is told.

    Returns:
        What the tree asks of a toolkit, for the part's `says`.

    Raises:
        ConflictError: ``python-not-for-tree``, ``torch-architecture-unknown``.
    """
    findings: list[Finding] = [tree_python(answer.pyproject.decode("utf-8", "replace"), version)]
    asks = TreeAsks()
    if recipe.cuda is not None:
        asks = read_tree({path: answer.tree[path] for path in FILES if path in answer.tree})
        # refused where one cannot be said; where nobody can tell, that is said
        findings += refuse_archs(asks, recipe.cuda.archs, recipe.wheel.version)
        findings += _windows(recipe.cuda)
    for finding in findings:
        if finding.outcome == "warned":
            tell(f"warning: {finding.what}: seen {finding.seen}, wanted {finding.wanted}")
        elif finding.outcome == "not run" and finding.reference == "torch-architecture":
            tell(f"warning: not checked: {finding.what}")
    words = {True: "yes", False: "no"}
    return {
        "tree-knows-cccl": words[asks.knows_cccl],
        "tree-links-tools-ext": words[asks.links_tools_ext],
    }


def _windows(cuda: Cuda) -> Iterator[Finding]:
    """By a table, whether the toolkit knows each chip: the toolchain's probe decides, gigabytes later."""
    for text in cuda.archs:
        arch = parse_arch(text)
        window = arch_window(f"{arch.number}{arch.suffix}")
        if window is None or not SpecifierSet(window.cuda).contains(cuda.version):
            known = f"CUDA {window.cuda}" if window is not None else "no release"
            what = f"CUDA {cuda.version} for architecture {text}, by the table of releases"
            wanted = f"{known} ({window.source})" if window is not None else known
            yield Finding(
                reference="cuda-architecture", outcome="warned", what=what, seen=cuda.version, wanted=wanted
            )


def with_tree(parts: tuple[LockedPart, ...], asks: dict[str, str]) -> tuple[LockedPart, ...]:
    """The parts, the toolkit with what the tree asks of it."""
    return tuple(
        part.model_copy(update={"says": dict(sorted((part.says | asks).items()))})
        if part.name == "cuda"
        else part
        for part in parts
    )


def refuse_early(recipe: Recipe) -> None:
    """What no provider can have is told before anything is looked at or fetched.

    Raises:
        ConflictError: as the providers say.
    """
    for provider in providers_of(recipe).values():
        provider.questions(recipe)


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
