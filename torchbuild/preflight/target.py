"""The recipe against its target, by the facts: what the solver found, topic by topic."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice.answer import Advice, Conflict
from torchbuild.advice.of_recipe import has_wish
from torchbuild.advice.said import is_proven
from torchbuild.knowledge.gpus import gpu_product
from torchbuild.model.gpu_arch import Arch, parse_arch
from torchbuild.model.host import Host
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, forbidden, not_run, passed, warned

__all__ = ["facts_allow", "gpu_code_for_gpus", "host_as_target", "target_driver", "verify_gpu"]

_OF_DRIVER = (
    "driver-dropped-chip",
    "driver-older-than-chip",
    "wish-unreadable",
    "jetpack-lacks-toolkit",
    "kernel-modules-wrong",
    "toolkit-newer-than-driver",
)
"""Conflicts of the solver that are the driver's; all others are told under the facts."""
_NO_CODE = "archs-miss-chip"


def host_as_target(recipe: Recipe, host: Host) -> Recipe:
    """The recipe as if this machine's driver and GPUs were those of its target; glibc is left as it is."""
    target = recipe.target.model_copy(
        update={
            "driver": host.driver or None,
            "gpus": tuple(dict.fromkeys(_name(item.name, item.capability) for item in host.gpus)),
            "kernel_modules": host.modules if host.modules in ("open", "proprietary") else None,
        }
    )
    return recipe.model_copy(update={"target": target})


def _name(name: str, capability: int | None) -> str:
    """What the driver says of a chip is better than what its name means."""
    return f"sm_{capability}" if capability else name


def target_driver(case: Case) -> Iterator[Preflight]:
    """Whether the target's driver runs what is built; without a driver in the recipe nobody can say."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None:
        return
    what = f"CUDA {recipe.cuda.version} on the target's driver"
    if recipe.target.driver is None:
        yield not_run(
            "target-driver",
            f"{what}: the recipe names none",
            fix='Set target.driver, such as ">=535"'
            + ("; with --target-is-host this machine's counts." if case.host.driver else "."),
        )
        return
    if case.advice is None:
        yield not_run("target-driver", f"{what}: {_nothing_known(case)}")
        return
    found = _conflicts(case.advice, _OF_DRIVER)
    yield from (_conflict(case.advice, item) for item in found)
    if not found and case.advice.is_possible:
        gpus = ", ".join(recipe.target.gpus) or "the architectures of the recipe"
        yield passed("target-driver", f"{what}, with {gpus}", seen=recipe.target.driver)
    elif not found:
        yield not_run("target-driver", f"{what}: other facts forbid the recipe already")


def facts_allow(case: Case) -> Iterator[Preflight]:
    """Whether torch, toolkit, libraries, Python, compilers, C library and chips go together, by the facts."""
    if case.recipe is None:
        return
    what = f"{case.recipe.wheel.package} {case.recipe.wheel.version} by what is known of releases"
    if case.advice is None:
        yield not_run("recipe-by-facts", f"{what}: {_nothing_known(case)}")
        return
    driver = {item.reference for item in _conflicts(case.advice, _OF_DRIVER)} if case.has_cuda else set()
    if case.recipe.target.driver is None:
        driver = set()
    for item in case.advice.conflicts:
        if item.reference not in driver:
            yield _conflict(case.advice, item)
    if case.advice.is_possible:
        doubts = "; ".join(f"{item.says} ({item.source})" for item in case.advice.unconfirmed)
        yield passed("recipe-by-facts", what, seen=f"nobody confirmed: {doubts}" if doubts else "")


def _nothing_known(case: Case) -> str:
    if case.recipe is not None and not has_wish(case.recipe):
        return f"the facts speak of torch, and not of {case.recipe.wheel.package}"
    return "nobody asked the facts"


def _conflicts(advice: Advice, references: tuple[str, ...]) -> tuple[Conflict, ...]:
    return tuple(item for item in advice.conflicts if item.reference in references)


def _conflict(advice: Advice, conflict: Conflict) -> Preflight:
    """Two facts that collide; where nobody confirmed one of them it is a suspicion."""
    first, *rest = conflict.facts
    sources = dict.fromkeys(item.source for item in rest if item.source)
    wanted = "; ".join(item.says for item in rest) + (f" ({'; '.join(sources)})" if sources else "")
    near = f" What would work: {advice.ways[0].what}." if advice.ways else ""
    fix = conflict.fix + near
    return forbidden(
        conflict.reference,
        conflict.what,
        is_confirmed=is_proven(conflict),
        seen=first.says,
        wanted=wanted,
        fix=fix,
    )


def gpu_code_for_gpus(case: Case) -> Iterator[Preflight]:
    """Whether each GPU of the target finds code in the wheel: its own, or PTX that its driver translates."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None or not recipe.cuda.archs:
        return
    if case.advice is not None and _conflicts(case.advice, (_NO_CODE,)):
        return  # said, with the facts
    archs = tuple(parse_arch(text) for text in recipe.cuda.archs)
    for gpu in recipe.target.gpus:
        capability = _capability(gpu)
        if capability is None:
            yield not_run(
                "gpu-code-for-gpu", f"code for {gpu}: its compute capability is not known, or several"
            )
        else:
            yield _code_for(gpu, capability, archs)


def _capability(gpu: str) -> int | None:
    product = gpu_product(gpu)
    if product is not None:
        return product.capabilities[0] if len(product.capabilities) == 1 else None
    digits = gpu.lower().removeprefix("sm_").rstrip("af").replace(".", "")
    return int(digits) if digits.isdecimal() and 1 < len(digits) < 4 else None  # noqa: PLR2004  52, 120


def _code_for(gpu: str, capability: int, archs: tuple[Arch, ...]) -> Preflight:
    what, listed = f"code for {gpu} (sm_{capability})", ", ".join(item.torch_item for item in archs)
    native = [item.real for item in archs if _runs(item, capability)]
    if native:
        return passed("gpu-code-for-gpu", what, seen=max(native))
    ptx = [item.virtual for item in archs if item.has_ptx and not item.suffix and item.number <= capability]
    if ptx:
        return warned(
            "gpu-code-for-gpu",
            f"{what}: only PTX, which its driver compiles at the first start, if it is new enough",
            seen=ptx[-1],
            wanted=f"sm_{capability}",
            fix=f"Add {capability // 10}.{capability % 10} to cuda.archs.",
            blames="recipe",
        )
    return failed(
        "gpu-code-for-gpu",
        f"{what}: the wheel would hold none that it can run",
        seen=f"cuda.archs = {listed}",
        wanted=f"sm_{capability}, an older one of its major, or PTX of an older one",
        fix=f"Add {capability // 10}.{capability % 10} to cuda.archs.",
        blames="recipe",
    )


def _runs(arch: Arch, capability: int) -> bool:
    """Machine code runs on its own major, from its minor on; with ``a`` on its own chip alone."""
    if arch.suffix == "a":
        return arch.number == capability
    return arch.number // 10 == capability // 10 and arch.number <= capability


def verify_gpu(case: Case) -> Iterator[Preflight]:
    """A wheel that must be run on a GPU needs one here, whatever the target is."""
    if case.recipe is None or case.recipe.verify.level != "gpu":
        return
    if not case.host.gpus:
        yield failed(
            "verify-without-gpu",
            'verify.level = "gpu" runs the wheel on a GPU of this machine',
            seen=case.is_unseen("driver") or "no GPU",
            wanted="one that the driver here tells of",
            fix='Set verify.level = "cpu", and run `torchbuild verify` where a GPU is.',
        )
        return
    names = ", ".join(item.name for item in case.host.gpus)
    yield passed("verify-without-gpu", "a GPU of this machine to run the wheel on", seen=names)
