"""The lines of a new recipe: what was chosen, what follows from it, and why each is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchbuild.advice.answer import Advice, Choice
from torchbuild.advice.like_line import LikeLine
from torchbuild.advice.of_recipe import gcc_of
from torchbuild.advice.providers import blas_provider, library_provider, toolkit_provider
from torchbuild.knowledge.distributions import Distribution, distributions
from torchbuild.knowledge.recipe_defaults import (
    image_packages,
    outside_libraries,
    source_fact,
    wheel_requires,
)

__all__ = ["default_name", "merged_rows", "recipe_rows"]

_MOST_FACTS = 2
_LONGEST_NAME = 100
_CHECKS = ("import-identity", "config", "matmul", "svd", "autograd", "linear")
_LIBRARIES = ("cudnn", "nccl")


def default_name(advice: Advice) -> str:
    """``torch-2.6.0-cu126-gtx-1080-ti``: what the wheel is, and for what."""
    wish = advice.wish
    words = ("torch", advice.value("wheel.version") or wish.torch, advice.value("wheel.local"), *wish.gpus)
    text = re.sub(r"[^a-z0-9.]+", "-", "-".join(word for word in words if word).lower())
    return text.strip("-.")[:_LONGEST_NAME].rstrip("-.") or "torch"


def recipe_rows(advice: Advice, name: str, blas: str = "") -> tuple[LikeLine, ...]:
    """All lines but those of a wheel that the recipe is to be like, in the order of a recipe.

    Args:
        advice: a possible one.
        name: the recipe's.
        blas: ``blas.provider`` where it is known already.
    """
    own, provided = blas_provider(advice.wish.machine)
    provider = blas or own
    return (
        LikeLine(key="schema", value=1),
        LikeLine(key="name", value=name),
        *_target(advice),
        *_source(advice),
        *_chosen(advice, "python.version"),
        LikeLine(key="python.from", value="uv", comment="an interpreter by digest; the builder needs none"),
        *_toolchain(advice),
        *_cuda(advice),
        LikeLine(key="blas.provider", value=provider),
        LikeLine(key="blas.from", value=provided.origin, comment=provided.why),
        *_build(advice, provider),
        *_image(advice, provider),
        *_wheel(advice, provider),
        *_verify(advice),
    )


def merged_rows(rows: Iterable[LikeLine], over: Iterable[LikeLine]) -> tuple[LikeLine, ...]:
    """The rows with those of `over` in the place of rows with the same key, the others behind them."""
    laid = {row.key: row for row in over}
    kept = tuple(laid.pop(row.key, row) for row in rows)
    return (*kept, *laid.values())


def _chosen(advice: Advice, key: str) -> Iterator[LikeLine]:
    """A line that the solver chose; none where it had nothing to choose."""
    choice = next((item for item in advice.choices if item.key == key), None)
    if choice is not None:
        yield LikeLine(key=key, value=choice.value, comment=_why(choice))


def _why(choice: Choice) -> str:
    """The reason, then the facts that decided it, each on a line of its own; wishes are not repeated."""
    facts = [fact for fact in choice.facts if fact.source]
    told = [f"{fact.says} [{fact.table} {fact.row}, {fact.checked}]" for fact in facts[:_MOST_FACTS]]
    more = len(facts) - len(told)
    return "\n".join(
        (choice.why, *told, *((f"and {more} facts more: torchbuild explain",) if more > 0 else ()))
    )


def _target(advice: Advice) -> Iterator[LikeLine]:
    wish = advice.wish
    yield LikeLine(key="target.machine", value=wish.machine)
    yield from _chosen(advice, "target.glibc")
    if wish.gpus:
        yield LikeLine(key="target.gpus", value=wish.gpus)
    if wish.driver:
        oldest = "the oldest driver that the wheel will meet"
        yield LikeLine(key="target.driver", value=f">={wish.driver}", comment=oldest)
    if wish.modules:
        yield LikeLine(key="target.kernel_modules", value=wish.modules)
    if wish.forward_compat:
        package = "NVIDIA's forward-compatibility package is on the target"
        yield LikeLine(key="target.forward_compat", value=True, comment=package)


def _source(advice: Advice) -> Iterator[LikeLine]:
    fact = source_fact()
    yield LikeLine(key="source.git", value=fact.git)
    yield LikeLine(key="source.ref", value=fact.tag.format(release=advice.value("wheel.version")))
    yield LikeLine(key="source.submodules", value="recursive")


def _toolchain(advice: Advice) -> Iterator[LikeLine]:
    for row in _chosen(advice, "toolchain.cxx"):
        yield LikeLine(key="toolchain.cc", value=row.value.replace("g++", "gcc"))
        yield row


def _cuda(advice: Advice) -> Iterator[LikeLine]:
    version, machine = advice.value("cuda.version"), advice.wish.machine
    if not version:
        return
    yield from _chosen(advice, "cuda.version")
    origin, why = toolkit_provider(version, machine)
    yield LikeLine(key="cuda.from", value=origin, comment=why)
    for row in _chosen(advice, "cuda.archs"):
        yield row.model_copy(update={"value": tuple(row.value.replace(" ", "").split(","))})
    for name in _LIBRARIES:
        for row in _chosen(advice, f"{name}.version"):
            yield row
            origin, why = library_provider(name, row.value, advice.wish, version)
            yield LikeLine(key=f"{name}.from", value=origin, comment=why)


def _build(advice: Advice, provider: str) -> Iterator[LikeLine]:
    for row in _chosen(advice, "build.preset"):
        about = (
            "\nits rows are those for the CPU; [cuda] turns on what belongs to it" if _is_cuda(advice) else ""
        )
        yield row.model_copy(update={"comment": row.comment + about})
    if provider == "mkl":
        inside = "into the wheel, so that the target needs none"
        yield LikeLine(key="build.flags.USE_STATIC_MKL", value=True, comment=inside)


def _is_cuda(advice: Advice) -> bool:
    return bool(advice.value("cuda.version"))


def _suite(advice: Advice) -> Distribution | None:
    suite = advice.value("image.suite")
    return next((row for row in distributions() if suite and row.suite == suite), None)


def _image(advice: Advice, provider: str) -> Iterator[LikeLine]:
    row, gcc = _suite(advice), gcc_of(advice.value("toolchain.cxx"))
    if row is None:
        return
    packages = image_packages(gcc.partition(".")[0], provider)
    about = "-".join(filter(None, (f"gcc{gcc}" if gcc else "", provider if provider == "openblas" else "")))
    name = f"localhost/torchbuild/{row.id}-{row.suite}{'-' if about else ''}{about}"
    yield LikeLine(key="image.name", value=name, comment="made of the packages below, by digest")
    yield from _chosen(advice, "image.suite")
    why = "\n".join(("with what they need in turn:", *(f"{item.name}: {item.why}" for item in packages)))
    yield LikeLine(key="image.packages", value=tuple(item.name for item in packages), comment=why)


def _wheel(advice: Advice, provider: str) -> Iterator[LikeLine]:
    yield from _chosen(advice, "wheel.version")
    yield from _chosen(advice, "wheel.local")
    yield LikeLine(
        key="wheel.runtime", value="builder", comment="shared libraries stay outside, as named below"
    )
    required = wheel_requires(advice.value("wheel.version"))
    if required is not None:
        about = f"as upstream's own wheel, without the toolkit's packages [{required.checked}]"
        yield LikeLine(key="wheel.requires", value=required.requires, comment=about)
    yield LikeLine(
        key="wheel.system_libraries",
        value=tuple(dict.fromkeys(_outside(advice, provider))),
        comment="what the target's system must have; the package stage names what is missing here",
    )


def _outside(advice: Advice, provider: str) -> Iterator[str]:
    parts = [("compiler", "")]
    if provider != "mkl":  # which goes into the wheel
        parts.append((provider, ""))
    if _is_cuda(advice):
        parts += [(name, advice.value(f"{name}.version")) for name in ("cuda", *_LIBRARIES)]
    for part, release in parts:
        found = outside_libraries(part, release) if release or part in ("compiler", provider) else None
        yield from found.libraries if found else ()


def _verify(advice: Advice) -> Iterator[LikeLine]:
    if _is_cuda(advice):
        why = (
            "read, not imported: the toolkit's libraries are the target's.\n"
            '"cpu" where the builder\'s loader finds them'
        )
        yield LikeLine(key="verify.level", value="static", comment=why)
    elif wheel_requires(advice.value("wheel.version")) is None:
        why = 'read, not imported: name wheel.requires, what the wheel needs, and take "cpu"'
        yield LikeLine(key="verify.level", value="static", comment=why)
    else:
        yield LikeLine(key="verify.level", value="cpu")
        yield LikeLine(key="verify.require", value=_CHECKS)
