"""Build requirements that neither tree nor recipe name, and that a release of torch needs nevertheless."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from torchbuild.knowledge.requirements import bounds, numpy_requirement
from torchbuild.model.recipe import Recipe

__all__ = ["release_requirements"]


def release_requirements(recipe: Recipe, python_tag: str) -> tuple[str, ...]:
    """Bounds of the front end, and the NumPy to be made against; sorted.

    None of a distribution that the recipe names: what its author wants is weighed elsewhere, and said.
    Only torch's own releases are known.

    Args:
        recipe: what is asked for.
        python_tag: of the interpreter, such as ``cp312``.
    """
    if recipe.wheel.package != "torch":
        return ()
    release = recipe.wheel.version
    found = (*bounds(release), *filter(None, [numpy_requirement(release, python_tag)]))
    named = {_name(text) for text in recipe.build.requires}
    if "cmake" in recipe.toolchain.model_fields_set:
        named.add("cmake")
    return tuple(sorted(text for text in found if _name(text) not in named))


def _name(requirement: str) -> str:
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:  # told with the recipe's problems
        return ""
