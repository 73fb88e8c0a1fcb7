"""A recipe like an existing build: what was read of it, in a recipe's own words.

What was read is said as it was; what could not be read, and what no recipe can say yet, is told in a comment.
Nothing is filled in, but for a toolkit's patch release: the newest known one is taken, and said to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from packaging.version import Version

from torchbuild.advice.like_flags import flag_lines, unknown_switches
from torchbuild.advice.like_line import LikeLine, LikeParts
from torchbuild.advice.providers import library_provider, toolkit_provider
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.blas_facts import openmp_fact, openmp_names
from torchbuild.knowledge.cuda import cuda_release, cuda_releases
from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.gpus import gpu_product
from torchbuild.knowledge.tables import blas_fact
from torchbuild.model.gpu_arch import Arch, parse_arch
from torchbuild.model.likeness import LikeLibrary, Likeness, Read

__all__ = ["LikeLine", "LikeParts", "like_wish", "recipe_like"]

_CHIP = re.compile(r"(?:sm_)?([1-9][0-9]?)\.?([0-9])([af]?)")
_TYPES = ("Release", "RelWithDebInfo", "Debug", "MinSizeRel")
_LABEL = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")
_WISHED = ("cudnn", "nccl")
"""Libraries of which the facts decide."""


def like_wish(likeness: Likeness, added: Iterable[str] = ()) -> dict[str, Any]:
    """Fields of a `Wish` for the same build, with further GPUs; only those that were read.

    Args:
        likeness: what was read.
        added: products, or architectures such as ``sm_61`` or ``6.1``; one that nobody knows is left to the
            solver, which says so.
    """
    added = tuple(added)
    wish: dict[str, Any] = {
        "torch": likeness.version.value,
        "machine": likeness.machine.value,
        "glibc": likeness.glibc.value,
        "python": likeness.python.value,
        "gpus": added,
    }
    if not likeness.is_cpu:
        wish["cuda"] = _toolkit(likeness)[0]
        wish["archs"] = _archs(likeness, added)[0] if likeness.archs else ()
        for name in _WISHED:
            library = likeness.library(name)
            if library is not None:
                wish[name] = "none" if library.state == "absent" else library.version
    return {key: value for key, value in wish.items() if value}


def recipe_like(likeness: Likeness, added: Iterable[str] = ()) -> LikeParts:
    """The lines of a recipe for the same build, with further GPUs.

    Args:
        likeness: what was read.
        added: as for `like_wish`.
    """
    added = tuple(added)
    archs, new = _archs(likeness, added)
    is_other = likeness.is_cpu and bool(added)
    lines = (
        *_read("target.machine", likeness.machine),
        *_read("target.glibc", likeness.glibc),
        *_read("python.version", likeness.python),
        *_cuda(likeness, archs, new),
        *(line for library in likeness.libraries for line in _library(library, likeness)),
        *_algebra(likeness),
        *_build_type(likeness),
        *flag_lines(likeness, tuple(item.name for item in _tabled(likeness)), is_other=is_other),
        *_read("wheel.version", likeness.version),
        *(() if is_other else _label(likeness)),
    )
    return LikeParts(lines=lines, comments=tuple(_comments(likeness, added, new)), archs_added=new)


def _read(key: str, read: Read) -> Iterator[LikeLine]:
    if read:
        yield LikeLine(key=key, value=read.value, comment=f"as {read.where}")


def _toolkit(likeness: Likeness) -> tuple[str, str]:
    """A toolkit's release, and how it was come by; empty where it was not read."""
    minor, exact = likeness.cuda.value, likeness.toolkit.value
    if exact and cuda_release(exact) is not None:
        return exact, f"as {likeness.toolkit.where}"
    known = [row.version for row in cuda_releases() if f"{row.version}.".startswith(f"{minor}.")]
    if not minor or not known:
        return exact or minor, f"as {(likeness.toolkit if exact else likeness.cuda).where}"
    newest = max(known, key=Version)
    return (
        newest,
        f"{minor} as {likeness.cuda.where}; the newest {minor} that is known: its patch was not read",
    )


def _archs(likeness: Likeness, added: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The list with what the further GPUs need, and that alone."""
    there = {parse_arch(text) for text in likeness.archs}
    chips = {(arch.number, arch.suffix) for arch in there}
    new = {arch for name in added for arch in _chips(name) if (arch.number, arch.suffix) not in chips}
    return _written(there | new), _written(new)


def _chips(name: str) -> tuple[Arch, ...]:
    match = _CHIP.fullmatch(name.strip())
    if match is not None:
        return (Arch(int(match[1] + match[2]), match[3]),)
    product = gpu_product(name)
    return tuple(map(Arch, product.capabilities)) if product is not None else ()


def _written(archs: Iterable[Arch]) -> tuple[str, ...]:
    return tuple(arch.torch_item for arch in sorted(archs))


def _cuda(likeness: Likeness, archs: tuple[str, ...], new: tuple[str, ...]) -> Iterator[LikeLine]:
    version, why = _toolkit(likeness)
    if not version:
        return
    yield LikeLine(key="cuda.version", value=version, comment=why)
    origin, why = toolkit_provider(version, likeness.machine.value or "x86_64")
    yield LikeLine(key="cuda.from", value=origin, comment=why)
    if archs:
        where = f"as {likeness.archs_where}" if likeness.archs else "for the GPUs that were added"
        more = f"; {', '.join(new)} added" if new and likeness.archs else ""
        yield LikeLine(key="cuda.archs", value=archs, comment=f"{where}{more}")


def _tabled(likeness: Likeness) -> Iterator[LikeLibrary]:
    """Libraries that the recipe has a table for."""
    if likeness.cuda:
        for library in likeness.libraries:
            if library.state != "absent" and library.version and library.name not in _without_wheels():
                yield library


def _without_wheels() -> tuple[str, ...]:
    """Libraries that nobody publishes in a way that a recipe can name without an archive."""
    published = {row["library"] for row in facts_file("library_wheels")["wheel"]}
    return tuple(name for name in facts_file("libraries") if name not in published)


def _library(library: LikeLibrary, likeness: Likeness) -> Iterator[LikeLine]:
    if library not in _tabled(likeness):
        return
    static = "; linked into that wheel, a library of its own here" if library.state == "static" else ""
    yield LikeLine(
        key=f"{library.name}.version", value=library.version, comment=f"as {library.where}{static}"
    )
    wish = Wish(torch=likeness.version.value, machine=_machine(likeness))
    origin, why = library_provider(library.name, library.version, wish, _toolkit(likeness)[0])
    yield LikeLine(key=f"{library.name}.from", value=origin, comment=why)


def _machine(likeness: Likeness) -> Any:  # noqa: ANN401  the model says which words
    return likeness.machine.value or "x86_64"


def _algebra(likeness: Likeness) -> Iterator[LikeLine]:
    provider = _blas(likeness)
    if provider:
        yield LikeLine(key="blas.provider", value=provider, comment=f"as {likeness.blas.where}")
        origin = "wheels" if provider == "mkl" else "system"
        yield LikeLine(key="blas.from", value=origin)
    runtime = _openmp(likeness)
    if runtime:
        yield LikeLine(key="openmp.provider", value=runtime, comment=f"as {likeness.openmp.where}")
        yield LikeLine(key="openmp.from", value="wheels" if runtime == "iomp" else "system")


def _blas(likeness: Likeness) -> str:
    """The provider whose builds print this; empty where none does."""
    rows = ((name, blas_fact(name).settings.get("BLAS_INFO", "")) for name in facts_file("blas"))
    return next((name for name, printed in rows if printed and printed == likeness.blas.value), "")


def _openmp(likeness: Likeness) -> str:
    rows = ((name, openmp_fact(name).library) for name in openmp_names())
    return next((name for name, library in rows if library and likeness.openmp.value.startswith(library)), "")


def _build_type(likeness: Likeness) -> Iterator[LikeLine]:
    value = likeness.setting("BUILD_TYPE")
    if value in _TYPES:
        yield LikeLine(key="build.type", value=value, comment="as BUILD_TYPE of config.show()")


def _label(likeness: Likeness) -> Iterator[LikeLine]:
    if _LABEL.fullmatch(likeness.local.value):
        yield from _read("wheel.local", likeness.local)


def _comments(likeness: Likeness, added: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    """Sentences for the top of the file."""
    yield f"Like {likeness.subject}, read without running anything of it."
    for item in likeness.unread:
        yield f"Not read: {item.what}: {item.why}."
    if not likeness.settings_whole:
        yield "Not read: the whole of config.show(); switches that are missing here have the tree's defaults."
    unknown = ", ".join(f"{item.name}={item.value}" for item in unknown_switches(likeness))
    if unknown:
        yield f"Read, and no option of the tree that is known: {unknown}."
    unmatched = [name for name in added if not _chips(name)]
    if unmatched:
        yield f"No architecture is known for {', '.join(unmatched)}: cuda.archs has none for it."
    if added and not new and not unmatched:
        yield "cuda.archs has the added GPUs already."
    if added and likeness.is_cpu:
        yield "It is a CPU build: the toolkit and its libraries are chosen by the facts, not by it."
    yield from _about_code(likeness)
    yield from _about_libraries(likeness)


def _about_code(likeness: Likeness) -> Iterator[str]:
    if likeness.archs_partly:
        yield (
            f"A few of its files have code for {', '.join(likeness.archs_partly)} besides: its tree adds it"
            " by itself."
        )
    if likeness.compiler:
        yield f"Its host compiler: {likeness.compiler.value} ({likeness.compiler.where})."
    if likeness.blas and not _blas(likeness):
        yield f"Its BLAS is {likeness.blas.value!r}, which no recipe can name: the tree's choice is taken."
    if likeness.openmp and not _openmp(likeness):
        yield f"Its OpenMP runtime is {likeness.openmp.value}, which no recipe can name."
    if likeness.local and not _LABEL.fullmatch(likeness.local.value):
        yield f"Its local version label {likeness.local.value!r} cannot stand in a recipe."
    if likeness.numpy.value == "1":
        yield "It was compiled with headers of numpy 1, and runs with numpy 1 only."


def _about_libraries(likeness: Likeness) -> Iterator[str]:
    tabled = set(_tabled(likeness))
    for library in likeness.libraries:
        if library.state == "absent" or library in tabled:
            continue
        release = f" {library.version}" if library.version else ""
        yield (
            f"It has {library.name}{release} ({library.state}), which is not taken from there: name"
            f" [{library.name}] with its release and where it comes from, or leave it to the facts."
        )
    ways = {
        "bundle": "It holds libraries from outside",
        "depend": "It requires libraries from outside as wheels",
    }
    if likeness.runtime in ways:
        yield (
            f"{ways[likeness.runtime]} ({likeness.runtime_where}). Here they are left to the target's system:"
            f' wheel.runtime = "{likeness.runtime}" is not done yet.'
        )
    if likeness.triton:
        yield f'It requires {likeness.triton.value}: wheel.triton = "auto" is not done yet.'
