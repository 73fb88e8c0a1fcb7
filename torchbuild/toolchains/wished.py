"""What the recipe's tables ask for, before anybody is asked: parts, their places, and switches."""

from __future__ import annotations

from collections.abc import Collection

from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import LockedPart, PartName, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda, Library
from torchbuild.toolchains.library_environment import switches

__all__ = ["LIBRARIES", "arch_list", "table_flags", "wished_part", "wished_parts"]

LIBRARIES: tuple[PartName, ...] = ("nccl", "cudnn", "cusparselt", "nvshmem", "magma")
"""Libraries beside the toolkit, in the order in which they are laid."""
_BUILDER = "/usr"
"""Where a distribution puts what it has."""
_BUILT_IN_TREE = f"{BUILD_ROOT}/source/build"
"""Where a tree builds what it brings."""


def wished_parts(recipe: Recipe) -> tuple[LockedPart, ...]:
    """Toolkit and libraries with the places they will have; no pieces yet."""
    names: tuple[PartName, ...] = ("cuda", *LIBRARIES)
    found = (wished_part(recipe, name) for name in names)
    return tuple(part for part in found if part is not None)


def wished_part(recipe: Recipe, name: PartName) -> LockedPart | None:
    """One of them; None where the recipe has no such table."""
    table = getattr(recipe, name)
    if table is None:
        return None
    prefix = table.path or _BUILDER if _is_builders(table) else prefix_of(name)
    if table.source == "bundled":
        prefix = f"{_BUILT_IN_TREE}/{name}"
    return LockedPart(name=name, provider=table.source, version=table.version or "", prefix=prefix)


def _is_builders(table: Cuda | Library) -> bool:
    return table.source in ("apt", "system")


def table_flags(recipe: Recipe, declared: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """Switches that the tables decide, each with the table; only those of `declared`, where it is known."""
    if recipe.cuda is None:
        return {}
    return {"USE_CUDA": ("ON", "cuda")} | switches(wished_parts(recipe), declared)


def arch_list(recipe: Recipe) -> str:
    """``TORCH_CUDA_ARCH_LIST``; empty for a CPU build."""
    if recipe.cuda is None:
        return ""
    return ";".join(parse_arch(text).torch_item for text in recipe.cuda.archs)
