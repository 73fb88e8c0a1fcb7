"""The environment of the build, complete: nothing is inherited, and nothing in it depends on the machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import EraFact, blas_fact
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.compiler_caches import cache_environment
from torchbuild.resolve.flags import definitions, flags, linker_flags, preset_environment
from torchbuild.resolve.parts_handed import (
    Parts,
    parts_definitions,
    parts_environment,
    parts_or_wished,
)
from torchbuild.resolve.variables import BASE

__all__ = ["BASE", "build_environment", "extra_defines", "full_environment"]


def build_environment(
    recipe: Recipe,
    era: EraFact,
    compilers: Mapping[str, str],
    declared: Collection[str] = (),
    parts: Parts | None = None,
) -> dict[str, str]:
    """The build's own variables: parts, flags, compilers, version. The common ones are added at run time."""
    environ = preset_environment(recipe)
    environ |= {name: value for name, (value, _) in flags(recipe, declared).items()}
    environ |= {name: value for name, value in _definitions(recipe).items() if _by_environment(name, era)}
    environ |= {"CC": compilers["CC"], "CXX": compilers["CXX"]}
    environ |= {"CMAKE_BUILD_TYPE": recipe.build.type, "CMAKE_GENERATOR": "Ninja"}
    if recipe.blas is not None:
        environ["BLAS"] = blas_fact(recipe.blas.provider).blas
    if compilers.get("LAUNCHER"):
        environ |= {f"CMAKE_{lang}_COMPILER_LAUNCHER": compilers["LAUNCHER"] for lang in ("C", "CXX")}
    environ |= cache_environment(compilers.get("LAUNCHER", ""), recipe, declared)
    environ |= {
        "PYTORCH_BUILD_VERSION": wheel_version(recipe),
        "PYTORCH_BUILD_NUMBER": str(recipe.wheel.build_number),
    }
    environ |= recipe.build.env
    environ |= parts_environment(recipe, parts_or_wished(recipe, parts), compilers, declared)
    if linker_flags(recipe):
        environ["LDFLAGS"] = linker_flags(recipe)
    return dict(sorted(environ.items()))


def _definitions(recipe: Recipe) -> dict[str, str]:
    return {name: value for name, (value, _) in definitions(recipe).items()}


def _by_environment(name: str, era: EraFact) -> bool:
    """A real definition is better where the era has one: the environment is read too late for some names."""
    return era.defines == "none" and era.reaches(name)


def wheel_version(recipe: Recipe) -> str:
    """The version that the tree is told: public version and local label."""
    return recipe.wheel.version + (f"+{recipe.wheel.local}" if recipe.wheel.local else "")


def extra_defines(recipe: Recipe, era: EraFact, parts: Parts | None = None) -> dict[str, str]:
    """Definitions that the environment cannot carry, or ConflictError where the era has no way in."""
    ours = parts_definitions(parts_or_wished(recipe, parts), era)
    left = {name: value for name, value in _definitions(recipe).items() if not _by_environment(name, era)}
    if left and era.defines == "none":
        raise ConflictError(
            "define-cannot-reach-cmake",
            f"this tree's front end cannot hand {', '.join(left)} to CMake",
            why=(
                f"seen build.cmake with {', '.join(left)}",
                f"wanted names beginning with {', '.join(era.prefixes)}, or one of {', '.join(era.names)}",
                f"source: {era.source}",
            ),
            fix="Set the definition in a patch of CMakeLists.txt, or use a name that the front end forwards.",
        )
    return dict(sorted((ours | left).items()))


def full_environment(lock: Lock) -> tuple[tuple[str, str], ...]:
    """All variables of a build command, sorted."""
    environ = BASE | {"SOURCE_DATE_EPOCH": str(lock.epoch)} | lock.environ
    return tuple(sorted(environ.items()))
