"""All preflights, in the order in which they are told, and what follows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from torchbuild.errors import ConflictError, HostError, TorchbuildError
from torchbuild.preflight import (
    compiler_cache,
    compilers,
    engine,
    environment,
    interpreter,
    libraries,
    memory,
    pool,
    recipe_words,
    source_tree,
    space,
    target,
    toolkit,
)
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import CONCERNS, Concern, Preflight
from torchbuild.preflight.overridable import overridable

__all__ = ["CHECKS", "exit_code", "in_the_way", "preflights", "refusal"]

Check = Callable[[Case], Iterator[Preflight]]

CHECKS: Mapping[Concern, tuple[Check, ...]] = MappingProxyType(
    {
        "target": (
            target.target_driver,
            target.facts_allow,
            target.gpu_code_for_gpus,
            recipe_words.many_architectures,
            recipe_words.native_code,
            target.verify_gpu,
        ),
        "toolkit": (
            toolkit.providers_can,
            recipe_words.pairs,
            toolkit.real_nvcc,
            toolkit.device_compilers,
            toolkit.foreign_installer,
            space.installer_space,
        ),
        "libraries": (
            libraries.for_the_cuda,
            libraries.for_the_tree,
            libraries.for_the_chips,
            libraries.of_this_machine,
            libraries.several_wheels,
        ),
        "interpreter": (interpreter.interpreter, interpreter.numpy),
        "compilers": (
            compilers.host_compiler,
            compilers.header_pairs,
            compilers.glibc_of_builder,
            recipe_words.build_programs,
            compiler_cache.cache_pair,
            pool.pool_limits,
        ),
        "engine": (engine.machine_family, engine.engine, engine.namespaces, engine.gpu_runtime),
        "space": (space.disk_rights, space.free_space, space.free_files, space.disk_kinds),
        "memory": (memory.memory_for_jobs, memory.cores),
        "environment": (
            environment.host_driver,
            environment.kernel_modules,
            environment.forward_compat_in_path,
            environment.git,
            environment.clock,
            environment.proxies,
            environment.misleading,
        ),
        "source": (source_tree.source_directory,),
    }
)
"""By concern."""


def preflights(case: Case) -> dict[Concern, tuple[Preflight, ...]]:
    """Every outcome, by concern; what two of them say alike is said once."""
    seen: set[tuple[str, str]] = set()
    found: dict[Concern, tuple[Preflight, ...]] = {}
    for concern in CONCERNS:
        rows = []
        for item in (item for check in CHECKS[concern] for item in check(case)):
            key = (item.reference, item.what)
            if key not in seen:
                seen.add(key)
                rows.append(item)
        found[concern] = tuple(rows)
    return found


def in_the_way(
    found: Mapping[Concern, tuple[Preflight, ...]], despite: tuple[str, ...] = ()
) -> tuple[Preflight, ...]:
    """What a build refuses to begin with, but for what it goes on in spite of; recipes before machines."""
    fatal = [
        item
        for rows in found.values()
        for item in rows
        if item.outcome == "failed" and item.is_fatal and item.reference not in despite
    ]
    return tuple(sorted(fatal, key=lambda item: item.blames != "recipe"))


def exit_code(found: Mapping[Concern, tuple[Preflight, ...]]) -> int:
    """0 where nothing failed; 4 where a recipe cannot work anywhere; 6 where it cannot here."""
    wrong = [item for rows in found.values() for item in rows if item.outcome == "failed"]
    if not wrong:
        return 0
    return (ConflictError if any(item.blames == "recipe" for item in wrong) else HostError).exit_code


def refusal(wrong: tuple[Preflight, ...]) -> TorchbuildError:
    """What a build ends with before it begins: everything that is wrong, and the first thing to do."""
    first = wrong[0]
    count = f"{len(wrong)} things" if len(wrong) > 1 else "one thing"
    what = f"this build would fail of {count}; nothing was fetched"
    why = tuple(f"[{item.reference}] {item.what}: seen {item.seen}, wanted {item.wanted}" for item in wrong)
    fix = f"{first.fix}{_all_the_same(wrong)}"
    if first.blames == "recipe":
        return ConflictError("preflight-refused-recipe", what, why=why, fix=fix)
    return HostError("preflight-refused-machine", what, why=why, fix=fix)


def _all_the_same(wrong: tuple[Preflight, ...]) -> str:
    """What goes on in spite of all of it; empty where a later step refuses the same, whatever one says."""
    names = dict.fromkeys(item.reference for item in wrong)
    if not names.keys() <= set(overridable()):
        return ""
    return f" To go on all the same: {' '.join(f'--despite {name}' for name in names)}"
