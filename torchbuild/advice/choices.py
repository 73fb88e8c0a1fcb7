"""The lines of a recipe for a wish that can be, each with what decided it."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice import cite
from torchbuild.advice.answer import Choice, Cited
from torchbuild.advice.builders import builder_for
from torchbuild.advice.libraries import Library, Wanted, choose_library
from torchbuild.advice.target import Case, chips_of
from torchbuild.advice.toolkits import can_translate, forward_facts, images_for
from torchbuild.advice.versions import minor_of
from torchbuild.knowledge.cuda import CudaRelease, arch_window, compat_floor
from torchbuild.knowledge.interpreters import newest_promised, torch_python
from torchbuild.knowledge.tables import preset
from torchbuild.knowledge.torch_releases import official_builds, torch_line
from torchbuild.model.gpu_arch import Arch

__all__ = ["choices_for"]

_LIBRARIES: tuple[Wanted, ...] = ("cudnn", "nccl")


def choices_for(case: Case, cuda: CudaRelease | None) -> tuple[Choice, ...]:
    """Every line, in the order of a recipe."""
    rows = (
        *_target(case),
        *_python(case),
        *_builder(case, cuda),
        *(_cuda(case, cuda) if cuda else ()),
        *_wheel(case, cuda),
    )
    return tuple(rows)


def release_of(torch: str) -> str:
    """The release that is meant: of ``2.6`` the newest that is known."""
    line = torch_line(torch)
    if line is None or torch in line.releases or torch.count(".") > 1:
        return torch
    return line.releases[-1] if line.releases else f"{line.minor}.0"


def _target(case: Case) -> Iterator[Choice]:
    if case.wish.glibc:
        yield Choice(
            key="target.glibc",
            value=case.wish.glibc,
            why="the target has it",
            facts=(cite.asked("glibc", case.wish.glibc),),
        )


def _python(case: Case) -> Iterator[Choice]:
    wish, row = case.wish, torch_python(case.wish.torch)
    if wish.python:
        facts = (cite.asked("python", wish.python), *((cite.torch_python(row),) if row else ()))
        yield Choice(key="python.version", value=wish.python, why="it is asked for", facts=facts)
    elif row is not None:
        newest = newest_promised(row)
        why = "it is the newest that the release promises"
        if newest:
            yield Choice(key="python.version", value=newest, why=why, facts=(cite.torch_python(row),))


def _builder(case: Case, cuda: CudaRelease | None) -> Iterator[Choice]:
    from torchbuild.advice.compilers import HostCompiler, host_compiler  # noqa: PLC0415  one use

    found = builder_for(case.wish, cuda)
    is_told = bool(cuda or case.wish.gcc)  # else nothing says which compilers an old system has
    compiler = found.compiler if found else host_compiler(case.wish, cuda) if is_told else None
    if isinstance(compiler, HostCompiler):
        why = "it is the newest that the toolkit and torch both take" if cuda else "torch takes it"
        yield Choice(key="toolchain.cxx", value=f"g++-{compiler.version}", why=why, facts=compiler.facts)
    if found and found.distribution.suite:
        row = found.distribution
        fact = Cited(
            table="distributions.distribution",
            row=row.name,
            says=f"{row.name} has glibc {row.glibc} and gcc {', '.join(row.gcc)}",
            source=row.source,
            checked=row.checked,
        )
        why = "it is the newest whose C library and compiler fit"
        yield Choice(key="image.suite", value=row.suite, why=why, facts=(fact,))


def _cuda(case: Case, cuda: CudaRelease) -> Iterator[Choice]:
    yield _toolkit(case, cuda)
    if case.archs:
        yield _archs(case, cuda)
    for name in _LIBRARIES:
        choice = choose_library(name, case, cuda)
        if isinstance(choice, Library):
            yield Choice(key=f"{name}.version", value=choice.version, why=choice.why, facts=choice.facts)


def _toolkit(case: Case, cuda: CudaRelease) -> Choice:
    minor = minor_of(cuda.version)
    released = [row for row in official_builds(case.wish.torch, case.wish.machine) if row.cuda == minor]
    line, floor = torch_line(case.wish.torch), compat_floor(cuda.version)
    facts = [cite.official(row) for row in released] or ([cite.torch_line(line)] if line else [])
    if case.wish.cuda:
        facts.insert(0, cite.asked("cuda", case.wish.cuda))
    if case.wish.driver and floor:
        facts += [cite.asked("driver", case.wish.driver), cite.driver_floor(floor)]
    if case.wish.forward_compat:
        facts += forward_facts(case, cuda)
    facts += [cite.jetpack(row) for row in images_for(case, cuda)]
    why = "it is asked for" if case.wish.cuda else _why_toolkit(case, is_released=bool(released))
    return Choice(key="cuda.version", value=cuda.version, why=why, facts=tuple(facts))


def _why_toolkit(case: Case, *, is_released: bool) -> str:
    goes = "that the driver runs and that knows every chip" if case.wish.driver else "that knows every chip"
    if is_released:
        return f"it is the newest that torch was released with, {goes}"
    return f"torch was released with none that goes; it is the newest that its tree takes, {goes}"


def _archs(case: Case, cuda: CudaRelease) -> Choice:
    archs = case.archs
    why, facts = "machine code for each GPU", []
    for gpu in chips_of(case):
        facts += list(gpu.facts[:1])
    for arch in archs:
        window = arch_window(f"{arch.number}{arch.suffix}")
        facts += [cite.arch_window(window)] if window else []
    if case.wish.archs:
        why = "they are asked for"
    elif can_translate(case, cuda):
        archs = _with_ptx(archs)
        why += ", and PTX for newer ones, which the driver can translate"
        facts.append(cite.native(cuda))
    value = ", ".join(item.torch_item for item in archs)
    return Choice(key="cuda.archs", value=value, why=why, facts=tuple(facts) or (cite.asked("archs", value),))


def _with_ptx(archs: tuple[Arch, ...]) -> tuple[Arch, ...]:
    """PTX of the newest; of an architecture-specific one it would run nowhere else."""
    newest = archs[-1]
    return (*archs[:-1], Arch(newest.number, newest.suffix, has_ptx=not newest.suffix))


def _wheel(case: Case, cuda: CudaRelease | None) -> Iterator[Choice]:
    wish, line = case.wish, torch_line(case.wish.torch)
    release = release_of(wish.torch)
    facts = (cite.asked("torch", wish.torch), *((cite.torch_line(line),) if line else ()))
    if preset("official", release) is not None:
        why = "upstream's own flags are known for this release"
        yield Choice(key="build.preset", value="official", why=why, facts=facts[:1])
    yield Choice(
        key="wheel.version",
        value=release,
        why="the newest of its line" if release != wish.torch else "it is asked for",
        facts=facts,
    )
    local = "cu" + minor_of(cuda.version).replace(".", "") if cuda else "cpu"
    why = "it says the toolkit, as upstream's own does"
    yield Choice(key="wheel.local", value=local, why=why, facts=facts[:1])
