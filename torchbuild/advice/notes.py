"""What a person should hear beside the choices: what upstream ships, what was not weighed, what is lost."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from torchbuild.advice.builders import builder_for
from torchbuild.advice.target import Case, TargetGpu, by_ptx_alone, chips_of, runs_on
from torchbuild.advice.toolkits import can_translate, forward_facts, images_for
from torchbuild.advice.versions import at_least, minor_of
from torchbuild.knowledge.cuda import CudaRelease
from torchbuild.knowledge.cuda_facts import reported_pairs
from torchbuild.knowledge.host_compilers import pair_facts
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.torch_releases import OfficialBuild, official_builds, torch_line
from torchbuild.model.gpu_arch import parse_arch

__all__ = ["notes_for"]

_MINOR = 2


def notes_for(case: Case, cuda: CudaRelease | None) -> tuple[str, ...]:
    """Each in a sentence."""
    rows = (
        *_products(case),
        *_release(case),
        *_python(case),
        *(_toolkit(case, cuda) if cuda else ()),
        *(_jetson(case, cuda) if cuda else ()),
        *(_pairs(case, cuda) if cuda else ()),
        *_builder(case, cuda),
        *_compiler(case, cuda),
        *_drivers(case, cuda),
        *_official(case),
    )
    return tuple(dict.fromkeys(rows))


def _products(case: Case) -> Iterator[str]:
    """The trap in a name, such as that of another card with nearly the same."""
    for gpu in case.gpus:
        if gpu.product and gpu.product.note:
            yield f"of {gpu.product.name}: {gpu.product.note.rstrip('.')}"


def _release(case: Case) -> Iterator[str]:
    """A patch release that the table does not have."""
    line, wished = torch_line(case.wish.torch), Version(case.wish.torch)
    if line and len(wished.release) > _MINOR and wished.base_version not in line.releases:
        known = ", ".join(line.releases)
        yield f"torch {case.wish.torch} is not among the releases that are known of its line: {known}"


def _python(case: Case) -> Iterator[str]:
    row = torch_python(case.wish.torch)
    if row and case.wish.python and row.tries(case.wish.python.rstrip("t")):
        yield f"torch {case.wish.torch} is for Python {case.wish.python} as an experiment, without a promise"


def _toolkit(case: Case, cuda: CudaRelease) -> Iterator[str]:
    wish, minor = case.wish, minor_of(cuda.version)
    builds = official_builds(wish.torch, wish.machine)
    released = sorted(
        {row.cuda for row in builds if row.cuda}, key=lambda text: [int(x) for x in text.split(".")]
    )
    if released and minor not in released:
        yield f"torch {wish.torch} was never released with CUDA {minor}, but with {', '.join(released)}"
    if any(row.cuda == minor and not row.is_stable for row in builds):
        yield f"upstream calls torch {wish.torch} with CUDA {minor} experimental"
    line = torch_line(wish.torch)
    if line and line.exercised and _newer(minor, line.exercised):
        yield f"upstream's own scripts build torch {line.minor} with CUDA {line.exercised} at the newest"


def _jetson(case: Case, cuda: CudaRelease) -> Iterator[str]:
    images = images_for(case, cuda)
    if images and all(minor_of(cuda.version) != row.cuda for row in images):
        which = " or ".join(row.jetpack for row in images)
        yield f"the target needs JetPack {which} with the upgrade package of CUDA {minor_of(cuda.version)}"
    elif images:
        yield f"the target needs JetPack {' or '.join(row.jetpack for row in images)}"


def _pairs(case: Case, cuda: CudaRelease) -> Iterator[str]:
    wish = case.wish
    for row in reported_pairs(torch=wish.torch, cuda=cuda.version, machine=wish.machine):
        if row.torch:
            yield f"reported of torch {row.torch} with CUDA {row.cuda}: {row.what}"


def _compiler(case: Case, cuda: CudaRelease | None) -> Iterator[str]:
    """What is said of the compiler that is taken, and was not confirmed."""
    found = builder_for(case.wish, cuda)
    gcc = case.wish.gcc or (found.compiler.version if found else "")
    rows = pair_facts(
        gcc, cuda=cuda.version if cuda else "", torch=case.wish.torch, machine=case.wish.machine
    )
    yield from (f"not confirmed of gcc {gcc}: {row.what}" for row in rows if row.checked == "unconfirmed")


def _newer(one: str, other: str) -> bool:
    return [int(item) for item in one.split(".")] > [int(item) for item in other.split(".")]


def _builder(case: Case, cuda: CudaRelease | None) -> Iterator[str]:
    """Where no image can be made: what the builder must be."""
    found, glibc = builder_for(case.wish, cuda), case.wish.glibc
    if found and found.distribution.suite:
        return
    old = f"glibc {glibc} or older" if glibc else "a C library that goes with the toolkit"
    row = found.distribution if found else None
    such = f", such as {row.name} with gcc {found.compiler.version}" if row and found else ""
    yield (
        "no known Debian suite fits, to make a builder image of: this recipe builds on a machine or in"
        f" an image of yours with {old}{such}"
    )


def _drivers(case: Case, cuda: CudaRelease | None) -> Iterator[str]:
    if cuda is None:
        return
    driver = case.wish.driver
    if not driver:
        yield from _without_driver(case, cuda)
        return
    own = cuda.native or cuda.driver
    if case.wish.forward_compat and own and not at_least(driver, own) and forward_facts(case, cuda):
        yield f"the target needs the forward-compatibility package of CUDA {minor_of(cuda.version)}"
    if not can_translate(case, cuda):
        yield (
            f"driver {driver} runs CUDA {cuda.version} by minor-version compatibility and cannot translate"
            " its PTX: what torch compiles at run time by way of PTX does not load"
        )
    for gpu in chips_of(case):
        named = gpu.product
        if (
            named
            and named.driver
            and gpu.family
            and gpu.family.modules == "either"
            and case.wish.modules != "open"
            and not at_least(driver, named.driver)
        ):
            yield (
                f"the open kernel modules name {named.name} from driver {named.driver} on;"
                " the proprietary ones may have it before"
            )


def _without_driver(case: Case, cuda: CudaRelease) -> Iterator[str]:
    if case.gpus and all(gpu.is_tegra for gpu in case.gpus):
        return  # its system image brings the driver, and was weighed
    yield "no driver is named: whether the target's runs this toolkit was not weighed, and no PTX is made"
    for gpu in by_ptx_alone(case):
        own = cuda.native or cuda.driver
        yield f"{gpu.asked} has PTX alone, which drivers older than {own} cannot translate"


def _official(case: Case) -> Iterator[str]:
    every = official_builds(case.wish.torch, case.wish.machine)
    newer = sorted(
        {row.glibc for row in every if row.glibc and case.wish.glibc and _newer(row.glibc, case.wish.glibc)}
    )
    if newer:
        yield f"upstream's own wheels of torch {case.wish.torch} ask for glibc {', '.join(newer)}"
    builds = [row for row in every if row.cuda and row.archs]
    for gpu in chips_of(case):
        without = [row for row in builds if not _has(row, gpu)]
        if without and len(without) == len(builds):
            yield f"upstream's own wheels of torch {case.wish.torch} hold nothing for {gpu.asked}"
        elif without:
            which = ", ".join(row.cuda for row in without)
            own = f"upstream's own wheels of torch {case.wish.torch} for CUDA {which}"
            yield f"{own} hold nothing for {gpu.asked}"


def _has(build: OfficialBuild, gpu: TargetGpu) -> bool:
    """Whether an official wheel's machine code or PTX is for a GPU."""
    archs = [parse_arch(item) for item in build.archs]
    as_ptx = any(item.has_ptx and item.number <= gpu.arch.number for item in archs)
    return as_ptx or any(runs_on(item, gpu) for item in archs)
