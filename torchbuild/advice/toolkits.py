"""Toolkits: which may be tried, in what order, and what rules one out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited
from torchbuild.advice.compilers import NoCompiler, host_compiler
from torchbuild.advice.libraries import NoLibrary, Wanted, choose_library
from torchbuild.advice.target import Case, by_ptx_alone
from torchbuild.advice.versions import at_least, branch_of, minor_of, newest_first, parsed_driver
from torchbuild.knowledge.cuda import (
    CudaRelease,
    DriverFloor,
    arch_window,
    compat_floor,
    cuda_release,
    cuda_releases,
)
from torchbuild.knowledge.drivers import (
    EligibleLine,
    ForwardCompat,
    JetPack,
    forward_compat,
    is_eligible,
    jetpacks,
)
from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import glibc_facts
from torchbuild.knowledge.torch_releases import TorchLine, official_builds, torch_line, torch_lines

__all__ = ["Against", "against", "can_translate", "candidates", "floor_of", "forward_facts", "images_for"]

_LIBRARIES: tuple[Wanted, ...] = ("cudnn", "nccl")


@dataclass(frozen=True, slots=True)
class Against:
    """One fact that rules a toolkit out."""

    reference: str
    """The conflict's."""
    about: str
    """What it is about, such as an architecture: with the reference, what toolkits are ruled out by."""
    what: str
    """What is impossible, without the toolkit: it holds for each that this fact rules out."""
    facts: tuple[Cited, ...]
    """The fact; more where it takes several."""
    fix: str
    """What helps; begins with a verb."""
    least: str = ""
    """Of a driver: the oldest that will do."""


def candidates(case: Case) -> tuple[CudaRelease, ...]:
    """Toolkits to try: what torch was released with, newest first; then all others, newest first."""
    if case.wish.cuda:
        only = cuda_release(case.wish.cuda)
        return (only,) if only else ()
    released = newest_first(
        {item.cuda for item in official_builds(case.wish.torch, case.wish.machine) if item.cuda}
    )
    others = _by_likelihood({row.minor for row in cuda_releases()} - set(released), case.wish.torch)
    return tuple(row for row in (cuda_release(minor) for minor in (*released, *others)) if row is not None)


def _by_likelihood(minors: set[str], torch: str) -> tuple[str, ...]:
    """Newest first up to what upstream's own scripts build with; beyond it the nearest first."""
    line = torch_line(torch)
    tried = line.exercised if line and line.exercised else ""
    order = newest_first(minors)
    beyond = [item for item in order if tried and _numbers(item) > _numbers(tried)]
    return (*(item for item in order if item not in beyond), *reversed(beyond))


def _numbers(minor: str) -> tuple[int, ...]:
    return tuple(int(item) for item in minor.split("."))


def against(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    """All that rules a toolkit out, the plainest first.

    Libraries that nobody asked for are not weighed where the toolkit itself does not go.
    """
    plain = (*_torch(case, cuda), *_chips(case, cuda))
    yield from plain
    yield from _driver(case, cuda)
    yield from _ptx(case, cuda)
    yield from _jetson(case, cuda)
    for name in _LIBRARIES:
        if not plain or getattr(case.wish, name):
            yield from _library(name, case, cuda)
    yield from _compiler(case, cuda)
    yield from _headers(case, cuda)


def _torch(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    line = torch_line(case.wish.torch)
    known = floor_of(case.wish.torch)
    if line is not None and known is not None and not in_range(cuda.version, known.cuda):
        yield Against(
            reference="torch-refuses-toolkit",
            about=line.minor,
            what=f"torch {line.minor} takes CUDA {known.cuda} only",
            facts=(cite.torch_line(known, of=line.minor),),
            fix="Take another torch.",
        )


def floor_of(torch: str) -> TorchLine | None:
    """The line that says which toolkits a release takes: of one that nobody read, the nearest older one."""
    line = torch_line(torch)
    older = torch_lines()[: torch_lines().index(line) + 1] if line else ()
    return next((row for row in reversed(older) if row.cuda), None)


def _chips(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    for arch in case.archs:
        window = arch_window(f"{arch.number}{arch.suffix}")
        if window is not None and not in_range(cuda.version, window.cuda):
            yield Against(
                reference="toolkit-unaware-of-chip",
                about=arch.real,
                what=f"only CUDA {window.cuda} compiles for {arch.real}",
                facts=(cite.arch_window(window),),
                fix="Take another toolkit, or leave the chip out.",
            )


def _driver(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    driver = case.wish.driver
    if not driver or parsed_driver(driver) is None or (case.gpus and all(gpu.is_tegra for gpu in case.gpus)):
        return
    floor = compat_floor(cuda.version)
    least = floor.driver if floor else cuda.native
    if not least or at_least(driver, least) or _has_forward(case, cuda):
        return
    which = cuda.version.split(".")[0] if floor else cuda.version
    yield Against(
        reference="toolkit-newer-than-driver",
        about=driver,
        what=f"programs of CUDA {which} do not start on driver {driver}",
        facts=(cite.asked("driver", driver), _floor_fact(floor, cuda), *_no_forward(case, cuda)),
        fix=f"Install driver {least} or newer on the target.",
        least=least,
    )


def _ptx(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    """GPUs that only PTX is for, on a driver that cannot translate it."""
    driver = case.wish.driver
    if not driver or can_translate(case, cuda):
        return
    own = cuda.native or cuda.driver
    for gpu in by_ptx_alone(case):
        if not gpu.is_tegra:
            yield Against(
                reference="ptx-newer-than-driver",
                about=gpu.asked,
                what=f"driver {driver} cannot translate the PTX that is all there is for {gpu.asked}",
                facts=(cite.asked("driver", driver), cite.native(cuda)),
                fix=f"Add {gpu.arch.capability} to the architectures.",
                least=own,
            )


def _no_forward(case: Case, cuda: CudaRelease) -> tuple[Cited, ...]:
    """Why the forward-compatibility package that was asked for does not help."""
    if not case.wish.forward_compat:
        return ()
    package = forward_compat(cuda.version)
    rows = [is_eligible(gpu.line) for gpu in case.gpus]
    unnamed = [_nameless(gpu.asked) for gpu in case.gpus if not gpu.line]
    barred = [cite.eligible(row) for row in rows if row is not None and not row.is_eligible]
    return tuple(dict.fromkeys((*((cite.forward(package),) if package else ()), *barred, *unnamed)))


def _nameless(asked: str) -> Cited:
    says = f"{asked} names no product, and forward compatibility depends on the product's line"
    return Cited(table="wish", row="gpus", says=says)


def _floor_fact(floor: DriverFloor | None, cuda: CudaRelease) -> Cited:
    return cite.driver_floor(floor) if floor else cite.native(cuda)


def _has_forward(case: Case, cuda: CudaRelease) -> bool:
    """Whether the forward-compatibility package of the toolkit works on the target."""
    return case.wish.forward_compat and forward_facts(case, cuda) != ()


def forward_facts(case: Case, cuda: CudaRelease) -> tuple[Cited, ...]:
    """What allows forward compatibility; empty where something does not."""
    package: ForwardCompat | None = forward_compat(cuda.version)
    lines: list[EligibleLine | None] = [is_eligible(gpu.line) for gpu in case.gpus]
    if package is None or branch_of(case.wish.driver) not in package.branches or not lines:
        return ()
    if not all(row is not None and row.is_eligible for row in lines):
        return ()
    return (cite.forward(package), *dict.fromkeys(cite.eligible(row) for row in lines if row is not None))


def _jetson(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    for gpu in case.gpus:
        rows = jetpacks(gpu.arch.number) if gpu.is_tegra else ()
        minors = {item for row in rows for item in (row.cuda, *row.upgrades)}
        if rows and minor_of(cuda.version) not in minors:
            yield Against(
                reference="jetpack-lacks-toolkit",
                about=gpu.asked,
                what=f"the system images of {gpu.asked} run CUDA {', '.join(newest_first(minors))} only",
                facts=tuple(cite.jetpack(row) for row in rows),
                fix=_of_images(minors),
            )


def _of_images(minors: set[str]) -> str:
    known = [minor for minor in newest_first(minors) if cuda_release(minor)]
    return (
        f"Take CUDA {', '.join(known)}."
        if known
        else "Take a newer board: no toolkit of its system is known."
    )


def images_for(case: Case, cuda: CudaRelease) -> tuple[JetPack, ...]:
    """System images of a Jetson in the wish that run a toolkit."""
    minor = minor_of(cuda.version)
    chips = sorted({gpu.arch.number for gpu in case.gpus if gpu.is_tegra})
    rows = dict.fromkeys(row for sm in chips for row in jetpacks(sm) if minor in (row.cuda, *row.upgrades))
    return tuple(rows)


def _library(name: Wanted, case: Case, cuda: CudaRelease) -> Iterator[Against]:
    choice = choose_library(name, case, cuda)
    if not isinstance(choice, NoLibrary):
        return
    title = "cuDNN" if name == "cudnn" else "NCCL"
    asked = getattr(case.wish, name)
    which = f"{title} {asked}" if asked else f"no {title} for CUDA {cuda.version.split('.')[0]}"
    yield Against(
        reference="cudnn-lacks-chip" if name == "cudnn" else "nccl-lacks-chip",
        about=name,
        what=f"{which} {'does not go' if asked else 'goes'} with torch {case.wish.torch} and every chip",
        facts=((cite.asked(name, asked),) if asked else ()) + choice.facts,
        fix=f"Take another {title}, or build without it.",
    )


def _compiler(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    choice = host_compiler(case.wish, cuda)
    if isinstance(choice, NoCompiler):
        gcc = case.wish.gcc
        yield Against(
            reference="compiler-outside-toolkit",
            about=gcc,
            what=f"gcc {gcc} is not for CUDA {cuda.version} and torch {case.wish.torch}"
            if gcc
            else f"no gcc is both for CUDA {cuda.version} and for torch {case.wish.torch}",
            facts=((cite.asked("gcc", gcc),) if gcc else ()) + choice.facts,
            fix="Take another host compiler." if gcc else "Take another toolkit.",
        )


def _headers(case: Case, cuda: CudaRelease) -> Iterator[Against]:
    glibc = case.wish.builder_glibc
    for row in glibc_facts(cuda.version, glibc) if glibc else ():
        yield Against(
            reference="headers-contradict",
            about=glibc,
            what=f"the headers of CUDA {row.cuda} contradict those of glibc {row.glibc}",
            facts=(cite.asked("builder_glibc", glibc), cite.extension_glibc(row)),
            fix="Build in an image with an older C library.",
        )


def can_translate(case: Case, cuda: CudaRelease) -> bool:
    """Whether the target's driver can translate the toolkit's PTX."""
    driver, own = case.wish.driver, cuda.native or cuda.driver
    if not driver or not own:
        return False
    return at_least(driver, own) or _has_forward(case, cuda)
