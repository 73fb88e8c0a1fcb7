"""The host compiler as it was found beside the toolkit: within nvcc's limits and torch's, no known bad pair.

Tables raise suspicion. Two things decide: the toolkit's own header, and a kernel that nvcc compiled. Where
they disagree, both are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import HostError
from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import (
    extension_fact,
    glibc_facts,
    nvcc_fact,
    pair_facts,
    torch_fact,
)
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.host_compiler import Limits, is_refused, limits_of
from torchbuild.toolchains.host_compiler_seen import Builder, Compiler, builder_of
from torchbuild.toolchains.host_config import parse_host_config
from torchbuild.toolchains.proof import Check, Seen, Wanted, told

__all__ = ["CHECKS"]


def _there(wanted: Wanted, seen: Seen) -> tuple[Builder, Compiler] | None:
    """The builder and the build's compiler in it; None where there is nothing to judge."""
    try:
        builder = builder_of(seen)
    except (HostError, RecursionError):  # what is nested a thousand times was printed by no survey
        return None
    compiler = builder.named(wanted.cxx)
    return (builder, compiler) if compiler is not None else None


def _cuda(part: LockedPart, wanted: Wanted) -> str:
    """The toolkit's release, as exactly as it is known: 11.4.0 and 11.4.1 take different compilers."""
    return part.version if wanted.cuda and f"{part.version}.".startswith(f"{wanted.cuda}.") else wanted.cuda


def _limits(builder: Builder, part: LockedPart, wanted: Wanted) -> Limits:
    return limits_of(builder, cuda=_cuda(part, wanted), torch=wanted.torch, machine=wanted.machine)


def _compiled(builder: Builder, wanted: Wanted) -> bool | None:
    """Whether nvcc compiled a kernel with this very compiler; None where that was not tried."""
    device = builder.device
    return device.code == 0 if device.code >= 0 and device.cxx == wanted.cxx else None


def _suspected(builder: Builder, wanted: Wanted, signs: tuple[str, ...]) -> tuple[Outcome, str]:
    """What a suspicion comes to, and what the probe said; one that broke of something else confirms none."""
    compiled, said = _compiled(builder, wanted), builder.device.said
    if compiled is None:
        return "warned", "no kernel was compiled with it"
    if compiled:
        return "warned", "a kernel compiles all the same"
    is_this = any(sign in said for sign in signs)
    return ("failed", said) if is_this else ("warned", "a kernel does not compile, for another reason")


def _found(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The compiler is one that we can look at."""
    there = _there(wanted, seen)
    what = f"the host compiler {wanted.cxx}"
    if there is None:
        yield told("cuda-host-compiler", what, "failed", seen="not found", wanted="gcc or clang")
        return
    compiler = there[1]
    starts = not compiler.compiles and compiler.kind in ("gcc", "clang")
    wrong = compiler.compiles or f"{compiler.kind or 'unknown'} {compiler.version}"
    yield told(
        "cuda-host-compiler",
        what,
        "passed" if starts else "failed",
        seen=f"{compiler.kind} {compiler.version}" if starts else wrong,
        wanted="gcc or clang, whose small program compiles and starts",
    )


def _header(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """Within the limit of the toolkit's own header; a table where that is not there."""
    there = _there(wanted, seen)
    if there is None:
        return
    builder, compiler = there
    limits = _limits(builder, part, wanted)
    what = f"{compiler.kind} {compiler.version} and CUDA {_cuda(part, wanted)} ({limits.source})"
    allowed = limits.gcc if compiler.kind == "gcc" else limits.clang
    wanted_text = f"{compiler.kind} {allowed}" if allowed else "whatever its header takes"
    compiled = _compiled(builder, wanted)
    if is_refused(compiler):
        outcome: Outcome = "warned" if compiled else "failed"
        said = compiler.header.said + ("; and a kernel compiles all the same" if compiled else "")
        yield told("cuda-host-compiler-limit", what, outcome, seen=said, wanted=wanted_text)
    elif compiler.header.code == 0:
        yield told("cuda-host-compiler-limit", what, "passed", seen=compiler.version, wanted=wanted_text)
    elif not allowed:
        yield told(
            "cuda-host-compiler-limit", f"{what}: no header, no table", "not run", seen=compiler.version
        )
    else:
        ok = in_range(compiler.version, allowed)
        decided: Outcome = "passed" if ok else "failed" if limits.is_certain and not compiled else "warned"
        yield told("cuda-host-compiler-limit", what, decided, seen=compiler.version, wanted=wanted_text)


def _kernel(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A small kernel compiles with the very compiler, whatever limits and lists say."""
    there = _there(wanted, seen)
    if there is None:
        return
    builder, compiled = there[0], _compiled(there[0], wanted)
    what = f"a small kernel, by nvcc with {wanted.cxx}"
    if compiled is None:
        yield told("cuda-host-compiler-kernel", f"{what}: nobody asked for it", "not run")
        return
    outcome: Outcome = "passed" if compiled else "failed"
    said = builder.device.said or "compiles"
    yield told("cuda-host-compiler-kernel", what, outcome, seen=said, wanted="compiles")


def _release(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The header's limit is the one of this release: another toolkit's header has another."""
    there = _there(wanted, seen)
    if there is None or not there[0].header:
        return
    builder, _ = there
    config, fact = parse_host_config(builder.directives), nvcc_fact(_cuda(part, wanted))
    what = f"limit in {builder.header}"
    if fact is None or not config.gcc:
        why = "nobody knows this release's" if fact is None else f"not understood: {'; '.join(config.unread)}"
        yield told("cuda-host-config-release", f"{what}: {why}", "not run", seen=config.gcc)
        return
    same = config.gcc == fact.gcc
    outcome: Outcome = "passed" if same else "warned"
    wanted_text = f"gcc {fact.gcc} of CUDA {_cuda(part, wanted)}"
    yield told("cuda-host-config-release", what, outcome, seen=f"gcc {config.gcc}", wanted=wanted_text)


def _minimum(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """At least what the tree needs."""
    there, fact = _there(wanted, seen), torch_fact(wanted.torch)
    if there is None or there[1].kind != "gcc":
        return
    compiler = there[1]
    what = f"gcc for torch {wanted.torch or 'of no version'}"
    if fact is None:
        yield told(
            "torch-host-compiler", f"{what}: nobody knows its minimum", "not run", seen=compiler.version
        )
        return
    ok = in_range(compiler.version, fact.gcc)
    outcome: Outcome = "passed" if ok else "failed" if fact.is_fatal else "warned"
    yield told(
        "torch-host-compiler", f"{what} ({fact.source})", outcome, seen=compiler.version, wanted=fact.gcc
    )


def _pairs(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """No pair that is known to break; what the probe made of one that is."""
    there = _there(wanted, seen)
    if there is None or there[1].kind != "gcc":
        return
    builder, compiler = there
    known = pair_facts(compiler.version, cuda=_cuda(part, wanted), torch=wanted.torch, machine=wanted.machine)
    if not known:
        yield told(
            "cuda-host-compiler-pair", "pairs that are known to break", "passed", seen=compiler.version
        )
    for pair in known:
        outcome, said = _suspected(builder, wanted, pair.signs)
        what = f"{pair.what} ({pair.source})"
        yield told(
            "cuda-host-compiler-pair",
            what,
            outcome,
            seen=f"gcc {compiler.version}; {said}",
            wanted="another gcc",
        )


def _glibc(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """The toolkit's headers agree with those of the C library; a patched toolkit is told by its probe."""
    there = _there(wanted, seen)
    if there is None:
        return
    builder, _ = there
    what = f"headers of CUDA {wanted.cuda} and glibc {builder.glibc or 'of no version'}"
    if not builder.glibc or not wanted.cuda:
        yield told("cuda-glibc-headers", f"{what}: one of them is not known", "not run")
        return
    known = glibc_facts(_cuda(part, wanted), builder.glibc)
    if not known:
        yield told("cuda-glibc-headers", what, "passed", seen=builder.glibc)
    for fact in known:
        outcome, said = _suspected(builder, wanted, fact.signs)
        other = "a patched toolkit, a newer one, or an older C library: no other compiler helps"
        where = f"{what}: {fact.what} ({fact.source})"
        yield told("cuda-glibc-headers", where, outcome, seen=f"{builder.glibc}; {said}", wanted=other)


def _extension(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """A third opinion: it hinders nobody here, and those who compile extensions for the wheel."""
    there, fact = _there(wanted, seen), extension_fact(wanted.torch)
    if there is None or fact is None or there[1].kind != "gcc":
        return
    compiler = there[1]
    first = fact.refuses.get(".".join(wanted.cuda.split(".")[:2]))
    what = f"torch's own table for CUDA {wanted.cuda} ({fact.source})"
    if first is None:
        yield told("torch-extension-compilers", f"{what}: has no row", "not run", seen=compiler.version)
        return
    outcome: Outcome = "warned" if in_range(compiler.version, f">={first}") else "passed"
    yield told("torch-extension-compilers", what, outcome, seen=compiler.version, wanted=f"gcc <{first}")


CHECKS: dict[str, Check] = {
    "found": _found,
    "limit": _header,
    "kernel": _kernel,
    "release": _release,
    "minimum": _minimum,
    "pairs": _pairs,
    "glibc": _glibc,
    "extension": _extension,
}
"""By name."""
