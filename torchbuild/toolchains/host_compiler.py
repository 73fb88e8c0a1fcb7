"""The host compiler: which of a builder's C++ compilers a CUDA build takes, and why no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from torchbuild.errors import ConflictError, HostError
from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import (
    extension_fact,
    nvcc_fact,
    packages_fact,
    pair_facts,
    torch_fact,
)
from torchbuild.model.frozen import Frozen
from torchbuild.model.recipe_toolchain import Toolchain
from torchbuild.toolchains.host_compiler_seen import Builder, Compiler
from torchbuild.toolchains.host_config import parse_host_config

__all__ = [
    "Chosen",
    "Doubt",
    "Limits",
    "Named",
    "advice",
    "choose",
    "doubts",
    "is_refused",
    "limits_of",
    "named_of",
]


class Named(Frozen):
    """What the recipe itself names; empty for what it leaves to us."""

    cc: str = ""
    """``toolchain.cc``, as it stands there."""
    cxx: str = ""
    """``toolchain.cxx``, as it stands there."""


class Limits(Frozen):
    """What is asked of a host compiler."""

    cuda: str
    """Release of the toolkit."""
    torch: str
    """Public version of the wheel."""
    machine: str
    """Processor family."""
    gcc: str
    """What nvcc takes, a range; empty where nobody knows."""
    clang: str
    """The same for clang."""
    source: str
    """Who says so."""
    is_certain: bool
    """Whether the toolkit's own header does, rather than a table."""
    is_waived: bool = False
    """Whether nvcc is told to take any: ``-allow-unsupported-compiler``."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a compiler should not be taken."""

    seen: str
    """What it is."""
    wanted: str
    """What would do, with the source."""
    is_certain: bool
    """Whether it cannot work; else only the probe can tell."""

    def __str__(self) -> str:
        """For people."""
        return f"seen {self.seen}, wanted {self.wanted}"


class Chosen(Frozen):
    """The compilers to lock."""

    cc: str
    """C, absolute."""
    cxx: str
    """C++, absolute."""
    compiler: str
    """What the C++ compiler says it is."""
    compiler_c: str
    """What the C compiler says it is."""
    why: str
    """One line: how it came to be this one."""
    others: tuple[str, ...] = ()
    """Why each of the others was not taken."""
    warnings: tuple[str, ...] = ()
    """What speaks against it and is no proof."""


def named_of(toolchain: Toolchain) -> Named:
    """What the recipe itself says; a default is not its word."""
    stands = toolchain.model_fields_set
    return Named(
        cc=toolchain.cc if "cc" in stands else "",
        cxx=toolchain.cxx if "cxx" in stands else "",
    )


def limits_of(builder: Builder, *, cuda: str, torch: str, machine: str, is_waived: bool = False) -> Limits:
    """What is asked: by the toolkit's own header where the builder has it, else by what is known of it."""
    config, fact = parse_host_config(builder.directives), nvcc_fact(cuda)
    common = {"cuda": cuda, "torch": torch, "machine": machine, "is_waived": is_waived}
    if config.gcc or config.clang:
        ranges = {"gcc": config.gcc, "clang": config.clang, "source": builder.header, "is_certain": True}
    elif fact is not None:
        ranges = {"gcc": fact.gcc, "clang": fact.clang, "source": fact.source, "is_certain": False}
    else:
        ranges = {"gcc": "", "clang": "", "source": f"nothing is known of CUDA {cuda}", "is_certain": False}
    return Limits.model_validate(common | ranges)


def doubts(compiler: Compiler, limits: Limits) -> tuple[Doubt, ...]:
    """All that speaks against a compiler, in the order in which it would show."""
    return tuple(_doubts(compiler, limits))


def _doubts(compiler: Compiler, limits: Limits) -> Iterator[Doubt]:
    yield from _works(compiler, limits)
    if compiler.kind in ("gcc", "clang") and compiler.version:
        yield from _nvcc(compiler, limits)
        yield from _torch(compiler, limits)


def _works(compiler: Compiler, limits: Limits) -> Iterator[Doubt]:
    """It makes programs of this machine, and says what it is."""
    if compiler.compiles:
        yield Doubt(compiler.compiles, "a small program that compiles and starts", is_certain=True)
    if compiler.machine != limits.machine:
        yield Doubt(compiler.target or "no machine", limits.machine, is_certain=True)
    if compiler.kind not in ("gcc", "clang") or not compiler.version:
        yield Doubt(f"{compiler.kind or 'unknown'} {compiler.version}", "gcc or clang", is_certain=True)


def _nvcc(compiler: Compiler, limits: Limits) -> Iterator[Doubt]:
    """The header's own answer to this compiler; without one, what it or a table says of its kind."""
    if not limits.cuda:
        return
    allowed = limits.gcc if compiler.kind == "gcc" else limits.clang
    wanted = f"{compiler.kind} {allowed or 'of some version'} for CUDA {limits.cuda} ({limits.source})"
    if is_refused(compiler):
        said = f"{compiler.version}: {compiler.header.said[:160]}"
        yield Doubt(said, wanted, is_certain=not limits.is_waived)
    elif compiler.header.code != 0 and not in_range(compiler.version, allowed):
        yield Doubt(compiler.version, wanted, is_certain=limits.is_certain and not limits.is_waived)


def is_refused(compiler: Compiler) -> bool:
    """Whether the toolkit's own header stops at this compiler, rather than at something that is missing."""
    return compiler.header.code != 0 and "unsupported" in compiler.header.said


def _torch(compiler: Compiler, limits: Limits) -> Iterator[Doubt]:
    """The tree's minimum, and pairs that are known to break; both tell of gcc alone."""
    if compiler.kind != "gcc":
        return
    fact = torch_fact(limits.torch)
    if fact is not None and not in_range(compiler.version, fact.gcc):
        wanted = f"gcc {fact.gcc} for torch {limits.torch} ({fact.source})"
        yield Doubt(compiler.version, wanted, is_certain=fact.is_fatal)
    nvcc = nvcc_fact(limits.cuda) if limits.cuda else None
    if nvcc is not None and not in_range(compiler.version, nvcc.minimum):
        wanted = f"gcc {nvcc.minimum} for CUDA {limits.cuda} ({nvcc.source})"
        yield Doubt(compiler.version, wanted, is_certain=False)
    known = pair_facts(compiler.version, cuda=limits.cuda, torch=limits.torch, machine=limits.machine)
    for pair in known:
        yield Doubt(compiler.version, f"another gcc: {pair.what} ({pair.source})", is_certain=False)


def choose(builder: Builder, limits: Limits, named: Named) -> Chosen:
    """The compilers of a build; deterministic.

    A CPU build takes what the recipe names, by default gcc and g++. A CUDA build takes what the recipe names
    where it may be; else the newest gcc without a doubt, else, warned, the newest that may yet work. clang is
    only taken where it is named.

    Raises:
        HostError: ``compiler-missing``: one that the recipe names is not there.
        ConflictError: ``host-compiler-refused``: it cannot be taken; ``host-compiler-none``: none can.
    """
    if named.cc and not builder.cc:
        raise _missing(named.cc, "toolchain.cc")
    if named.cxx or not limits.cuda:
        return _named(builder, limits, named)
    free = [item for item in builder.compilers if item.kind == "gcc" and not _is_certain(item, limits)]
    if not free:
        raise _refused(builder, limits, "")
    best = max(free, key=lambda item: _rank(item, limits))
    why = f"the newest gcc that CUDA {limits.cuda} and torch {limits.torch} take ({limits.source})"
    if doubts(best, limits):
        why = f"the newest gcc that may yet work with CUDA {limits.cuda} and torch {limits.torch}"
    return _chosen(builder, limits, named, best, path=best.path, why=why)


def _rank(compiler: Compiler, limits: Limits) -> tuple[bool, bool, Version, str]:
    """Best last: without a doubt, itself rather than a cache before it, newest; then by name."""
    return not doubts(compiler, limits), not compiler.is_cache, Version(compiler.version), compiler.path


def _named(builder: Builder, limits: Limits, named: Named) -> Chosen:
    compiler = builder.named(builder.cxx) if builder.cxx else None
    if compiler is None:
        raise _missing(named.cxx or "g++", "toolchain.cxx")
    if limits.cuda and _is_certain(compiler, limits):
        raise _refused(builder, limits, builder.cxx)
    why = "the recipe names it" if named.cxx else "the builder's own: no CUDA is asked for"
    return _chosen(builder, limits, named, compiler, path=builder.cxx, why=why)


def _chosen(
    builder: Builder, limits: Limits, named: Named, compiler: Compiler, *, path: str, why: str
) -> Chosen:
    """With the C compiler that the recipe names, else the one of the same name; a CPU build keeps its own."""
    called = compiler.names[path]
    is_own = bool(named.cc) or not limits.cuda or not called.cc
    cc, says = (builder.cc, builder.cc_is.says) if is_own else (called.cc, called.cc_says)
    others = (item for item in builder.compilers if item is not compiler)
    return Chosen(
        cc=cc,
        cxx=path,
        compiler=called.says,
        compiler_c=says,
        why=why,
        others=tuple(f"{item}: {_reason(item, compiler, limits)}" for item in others) if limits.cuda else (),
        warnings=tuple(_warnings(builder, compiler, limits, is_own=is_own)),
    )


def _warnings(builder: Builder, compiler: Compiler, limits: Limits, *, is_own: bool) -> Iterator[str]:
    if not limits.cuda:
        return
    yield from (f"{compiler}: {doubt}" for doubt in doubts(compiler, limits))
    seen, wanted = (builder.cc_is.kind, builder.cc_is.version), (compiler.kind, compiler.version)
    if is_own and seen != wanted:
        yield f"{compiler}: the C compiler beside it is {builder.cc} ({' '.join(seen)})"
    fact = extension_fact(limits.torch)
    first = fact.refuses.get(".".join(limits.cuda.split(".")[:2])) if fact else None
    if fact and first and compiler.kind == "gcc" and in_range(compiler.version, f">={first}"):
        yield (
            f"{compiler}: torch's own table refuses gcc from {first} on to those who compile extensions "
            f"({fact.source})"
        )


def _is_certain(compiler: Compiler, limits: Limits) -> bool:
    return any(doubt.is_certain for doubt in doubts(compiler, limits))


def _reason(other: Compiler, chosen: Compiler, limits: Limits) -> str:
    found = "; ".join(map(str, doubts(other, limits)))
    if found:
        return found
    if other.kind != "gcc":
        return "would do, and is only taken where toolchain.cxx names it"
    return f"would do; {chosen} was taken"


def _missing(program: str, key: str) -> HostError:
    return HostError(
        "compiler-missing",
        f"the builder lacks the compiler {program}",
        why="looked in /usr/local/bin, /usr/bin and /bin, and at absolute paths",
        fix=f"Install {program} in the builder, or correct {key}.",
    )


def _refused(builder: Builder, limits: Limits, path: str) -> ConflictError:
    """Every candidate with its reason, and the packages that would do."""
    would_do = [item for item in builder.compilers if not doubts(item, limits)]
    for_what = f"for CUDA {limits.cuda} and torch {limits.torch}"
    rows = tuple(
        f"{item}: {_reason(item, item, limits)}" for item in builder.compilers if item not in would_do
    )
    if path:
        others = tuple(f"{item}: would do" for item in would_do)
        return ConflictError(
            "host-compiler-refused",
            f"the recipe's host compiler {path} cannot compile {for_what}",
            why=rows + others,
            fix=f"Set toolchain.cxx to {would_do[0].path}." if would_do else advice(builder, limits),
        )
    clangs = tuple(f"{item}: would do if toolchain.cxx named it" for item in would_do)
    return ConflictError(
        "host-compiler-none",
        f"no C++ compiler of the builder can compile {for_what}",
        why=rows + clangs or "it has none",
        fix=advice(builder, limits),
    )


def advice(builder: Builder, limits: Limits) -> str:
    """What to install: the newest that the builder's distribution has and nothing speaks against."""
    fact = packages_fact(builder.distribution, builder.release)
    torch = torch_fact(limits.torch)
    ranges = ",".join(item for item in (limits.gcc, torch.gcc if torch else "") if item)
    wanted = f"gcc {ranges or 'of another version'}"
    good = [major for major in fact.gcc if _would_do(major, limits)] if fact else []
    if fact is None or not good:
        place = f"{builder.distribution or 'its distribution'} {builder.release}".strip()
        return f"Install {wanted} in the builder, and name it in toolchain.cxx: none is known of {place}."
    command = fact.install.format(gcc=good[-1])
    own = f"; or {fact.toolkit}, for the distribution's own toolkit" if fact.toolkit else ""
    return f"Install {wanted} in the builder: {command}{own}."


def _would_do(major: str, limits: Limits) -> bool:
    """Whether a distribution's newest release of a major version is free of doubts: .99 stands for it."""
    version = f"{major}.99"
    torch = torch_fact(limits.torch)
    known = pair_facts(version, cuda=limits.cuda, torch=limits.torch, machine=limits.machine)
    return in_range(version, limits.gcc) and in_range(version, torch.gcc if torch else "") and not known
