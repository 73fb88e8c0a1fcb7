"""Host compilers: one that nvcc and the tree take, among those of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchbuild.advice.of_recipe import builder_glibc
from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import glibc_facts, nvcc_fact, packages_fact, pair_facts, torch_fact
from torchbuild.model.host import Compiler, Host
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned
from torchbuild.toolchains.library_wish import numbers

__all__ = ["glibc_of_builder", "header_pairs", "host_compiler"]

_GCC = "gcc"
_GXX = "g++"
_BUILDER_NEWER = "builder-newer-than-target"


class _Against(NamedTuple):
    """What speaks against a compiler."""

    wanted: str
    is_sure: bool


def host_compiler(case: Case) -> Iterator[Preflight]:
    """Some C++ compiler of this machine that torch and the toolkit take; the recipe's, where it names one."""
    recipe, host = case.recipe, case.host
    if recipe is None:
        yield _alone(case)
        return
    if not case.builds_here:
        yield not_run(
            "host-compiler", "the host compiler: the builder image's, which `torchbuild lock` looks at"
        )
        return
    if not host.compilers and case.is_unseen("compiler"):
        yield not_run("host-compiler", f"the host compiler: {case.is_unseen('compiler')}")
        return
    lacking = [name for name in _needed(recipe) if not _named(host, name)]
    named = recipe.toolchain.cxx if "cxx" in recipe.toolchain.model_fields_set or not case.has_cuda else ""
    found = _named(host, named) if named else tuple(filter(_is_gxx, host.compilers))
    if lacking or not found:
        yield _missing(recipe, host, lacking or ["g++"])
        return
    yield _weighed(recipe, host, found)


def _needed(recipe: Recipe) -> tuple[str, str]:
    """What must be there: a lock asks for both, also where nvcc gets another one."""
    return recipe.toolchain.cc, recipe.toolchain.cxx


def _is_gxx(compiler: Compiler) -> bool:
    """Whether a lock would choose it: a C++ compiler of GCC, where builds look."""
    return compiler.is_of_builds and compiler.kind == _GCC and _GXX in compiler.name


def _alone(case: Case) -> Preflight:
    what = "C++ compilers of this machine"
    told = [item for item in case.host.compilers if item.version]
    if any(map(_is_gxx, told)):
        return passed("host-compiler", what, seen=", ".join(f"{item.name} {item.version}" for item in told))
    if case.is_unseen("compiler"):
        return not_run("host-compiler", f"{what}: {case.is_unseen('compiler')}")
    return warned(
        "host-compiler",
        f"{what}: builds without an image need one",
        seen=", ".join(f"{item.path} ({item.version or item.why})" for item in case.host.compilers) or "none",
        wanted="gcc and g++ in /usr/local/bin, /usr/bin or /bin, where builds look",
        fix=_PLAIN,
    )


_PLAIN = "Install gcc and g++ under these names, as the distribution's packages of these names bring them."
"""What every lock asks for, whichever compiler nvcc gets."""


def _install(recipe: Recipe, host: Host) -> str:
    """The newest that the distribution has and nothing speaks against; .99 stands for a major's releases."""
    fact = packages_fact(host.distribution, host.release)
    majors = fact.gcc if fact is not None else ()
    good = [major for major in majors if not any(_against(recipe, _some_gcc(major), host.machine))]
    if fact is None or not good:
        return f"none that would do is known of {host.system or 'this system'}; or build in an image"
    return fact.install.format(gcc=good[-1])


def _some_gcc(major: str) -> Compiler:
    return Compiler(name=_GXX, path="", kind=_GCC, version=f"{major}.99")


def _named(host: Host, named: str) -> tuple[Compiler, ...]:
    found = (item for item in host.compilers if named in (item.name, item.path))
    return tuple(item for item in found if item.is_of_builds)[:1]


def _missing(recipe: Recipe, host: Host, lacking: list[str]) -> Preflight:
    there = ", ".join(f"{item.path} {item.version}".strip() for item in host.compilers) or "none"
    stands = {getattr(recipe.toolchain, key) for key in recipe.toolchain.model_fields_set & {"cc", "cxx"}}
    return failed(
        "host-compiler",
        f"this machine lacks the compiler {' and '.join(lacking)}",
        seen=there,
        wanted="it in /usr/local/bin, /usr/bin or /bin, where builds look, or a full path in toolchain.cxx",
        fix="Correct toolchain.cc and toolchain.cxx, or install it."
        if stands.intersection(lacking)
        else _PLAIN,
    )


def _weighed(recipe: Recipe, host: Host, found: tuple[Compiler, ...]) -> Preflight:
    """The best of them; where each has something against it, all of that."""
    against = {item: tuple(_against(recipe, item, host.machine)) for item in found}
    good = [item for item, reasons in against.items() if not reasons]
    cuda = f" and CUDA {recipe.cuda.version}" if recipe.cuda is not None else ""
    what = f"a C++ compiler for {recipe.wheel.package} {recipe.wheel.version}{cuda}"
    if good:
        return passed("host-compiler", what, seen=f"{good[0].path} ({good[0].kind} {good[0].version})")
    seen = ", ".join(f"{item.name} {item.version}" for item in found)
    wanted = "; ".join(dict.fromkeys(reason.wanted for reasons in against.values() for reason in reasons))
    fix = f"Install another compiler and name it in toolchain.cxx: {_install(recipe, host)}"
    if all(any(reason.is_sure for reason in reasons) for reasons in against.values()):
        return failed("host-compiler", what, seen=seen, wanted=wanted, fix=fix)
    told = f"{what}: the toolkit's own header and a probe decide, in the build"
    return warned("host-compiler", told, seen=seen, wanted=wanted, fix=fix)


def _against(recipe: Recipe, compiler: Compiler, machine: str) -> Iterator[_Against]:
    if compiler.kind != _GCC or not compiler.version:
        return
    release, cuda = recipe.wheel.version, recipe.cuda.version if recipe.cuda is not None else ""
    is_torch = recipe.wheel.package == "torch"
    torch = torch_fact(release) if is_torch else None
    if torch is not None and not in_range(compiler.version, torch.gcc):
        wanted = f"gcc {torch.gcc} for torch {release} ({torch.source})"
        yield _Against(wanted, torch.checked != "unconfirmed" and torch.is_fatal)
    nvcc = nvcc_fact(cuda) if cuda else None
    if nvcc is not None and not in_range(compiler.version, nvcc.gcc):
        # a distribution's own toolkit may take another one: it is asked itself
        is_sure = nvcc.checked != "unconfirmed" and _is_published(recipe)
        yield _Against(f"gcc {nvcc.gcc} for CUDA {cuda} ({nvcc.source})", is_sure)
    for pair in pair_facts(compiler.version, cuda=cuda, torch=release if is_torch else "", machine=machine):
        yield _Against(f"another gcc: {pair.what} ({pair.source})", is_sure=False)


def _is_published(recipe: Recipe) -> bool:
    """Whether the toolkit is NVIDIA's own, whose header is known."""
    return recipe.cuda is not None and recipe.cuda.source in ("runfile", "redist", "wheels")


def glibc_of_builder(case: Case) -> Iterator[Preflight]:
    """What is compiled against a newer C library than the target's may need functions that are not there."""
    recipe, glibc = case.recipe, _builders_glibc(case)
    if recipe is None or recipe.target.glibc is None or not glibc:
        return
    if case.advice is not None and any(item.reference == _BUILDER_NEWER for item in case.advice.conflicts):
        return  # said, with the facts
    what, wanted = "the builder's C library and the target's", f"glibc {recipe.target.glibc} or older"
    if numbers(glibc) <= numbers(recipe.target.glibc):
        yield passed("glibc-of-builder", what, seen=f"glibc {glibc}", wanted=wanted)
        return
    yield warned(
        "glibc-of-builder",
        f"{what}: each needed symbol is compared when the wheel is packed",
        seen=f"glibc {glibc}",
        wanted=wanted,
        fix="Build in an image with that C library, or raise target.glibc.",
        blames="recipe",
    )


def _builders_glibc(case: Case) -> str:
    """By the lock, this machine, or the suite of the image; empty where nobody knows."""
    if case.lock is not None:
        return case.lock.glibc
    if case.builds_here:
        return case.host.glibc
    return builder_glibc(case.recipe) if case.recipe is not None else ""


def header_pairs(case: Case) -> Iterator[Preflight]:
    """Toolkits that contradict the C library of the machine that compiles: no other compiler helps."""
    recipe, glibc = case.recipe, _builders_glibc(case)
    if recipe is None or recipe.cuda is None:
        return
    solved = {item.reference for item in case.advice.conflicts} if case.advice is not None else set()
    what = f"headers of CUDA {recipe.cuda.version} and of the builder's C library"
    if not glibc:
        yield not_run("headers-of-builder", f"{what}: which one that is shows when it is locked")
        return
    found = glibc_facts(recipe.cuda.version, glibc)
    if not found:
        yield passed("headers-of-builder", what, seen=f"glibc {glibc}")
    for fact in found if "headers-contradict" not in solved else ():
        seen, wanted = f"glibc {glibc}", f"not glibc {fact.glibc}: {fact.what} ({fact.source})"
        fix = "Take a newer toolkit, or a builder image with an older C library; another gcc does not help."
        if _is_published(recipe) and fact.checked != "unconfirmed":
            yield failed("headers-of-builder", what, seen=seen, wanted=wanted, fix=fix, blames="recipe")
        else:
            told = f"{what}: distributions mend theirs, and a probe decides in the build"
            yield warned("headers-of-builder", told, seen=seen, wanted=wanted, fix=fix, blames="recipe")
