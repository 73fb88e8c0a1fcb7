"""What must hold between tables, whoever wrote their rows: a sentence for each place where it does not.

A sentence begins with the row that is at fault, as an overlay's record names it, and names the other one. Our
own tables hold all of it, by test. Of a user's overlay each row that was changed must, since a chip without a
family or a driver in the wrong place would make answers that nobody means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.cuda import arch_window, compat_floor, cuda_release, cuda_releases
from torchbuild.knowledge.drivers import ForwardCompat, JetPack, driver_branch
from torchbuild.knowledge.fact import Overlay, facts, in_range
from torchbuild.knowledge.gpus import GpuProduct, MachineGpus, gpu_families, gpu_family, gpu_products
from torchbuild.knowledge.host_compilers import NvccFact, TorchFact
from torchbuild.knowledge.libraries import minimums
from torchbuild.knowledge.torch_releases import (
    OfficialBuild,
    TorchArchs,
    TorchCMake,
    TorchLine,
    torch_lines,
)

__all__ = ["broken_by", "broken_invariants"]


def broken_invariants() -> tuple[str, ...]:
    """Everything between tables that does not hold; nothing where they agree."""
    return tuple(line for check in _CHECKS for line in check())


def broken_by(changed: Overlay) -> tuple[str, ...]:
    """What does not hold of the user's own rows, while they are laid; what ours lack then is not told."""
    titles = {line.rpartition(" by the user's overlay")[0].rpartition(": ")[0] for line in changed.changes}
    return tuple(line for line in broken_invariants() if line.partition(": ")[0] in titles)


def _drivers_only_rise() -> Iterator[str]:
    """A newer toolkit never starts on an older driver than one before it."""
    native = [row for row in cuda_releases() if row.native]
    for before, after in pairwise(native):
        if Version(after.native) < Version(before.native):
            told = f"runs on {after.native}, and {before.version} needs {before.native}"
            yield f"cuda.release {after.version}: {told}"
    majors = {Version(row.version).major: row for row in cuda_releases()}
    floors = [floor for row in majors.values() if (floor := compat_floor(row.version))]
    for low, high in pairwise(floors):
        if Version(high.driver) <= Version(low.driver):
            yield f"cuda.floor {high.cuda}: {high.driver}, and {low.cuda} needs {low.driver}"


def _floors_are_below_native() -> Iterator[str]:
    """A major release starts on no newer driver than its later minor releases run on without limits."""
    for row in cuda_releases():
        floor = compat_floor(row.version)
        is_first = Version(row.version).minor == 0  # what counts since a later patch
        if floor and row.native and not is_first and Version(floor.driver) > Version(row.native):
            yield f"cuda.floor {floor.cuda}: {floor.driver}, and {row.version} runs on {row.native} already"


def _toolkits_have_compilers() -> Iterator[str]:
    """Each release lies in a row of compilers."""
    ranges = [row.cuda for row in facts(NvccFact, "host_compilers", "nvcc")]
    releases = [row.version for row in cuda_releases()]
    yield from _held("cuda.release {0}", "host_compilers.nvcc", ranges, releases)


def _chips_have_families() -> Iterator[str]:
    """Each capability of a product has a family, and its driver lies among that family's."""
    for row in gpu_products():
        title = f"gpus.product {row.name}"
        for sm in row.capabilities:
            family = gpu_family(sm)
            if family is None:
                yield f"{title}: {sm} is no family of gpu_families"
            elif row.driver and family.last_branch and driver_branch(row.driver) > family.last_branch:
                yield f"{title}: driver {row.driver}, and family {sm} ends at {family.last_branch}"
            elif row.driver and family.driver and _older(row, family.driver):
                yield f"{title}: driver {row.driver}, and family {sm} begins with {family.driver}"


def _older(row: GpuProduct, driver: str) -> bool:
    return len(row.capabilities) == 1 and Version(row.driver) < Version(driver)


def _families_have_drivers_in_order() -> Iterator[str]:
    """A family's first driver is of no later branch than its last."""
    for row in gpu_families():
        if row.driver and row.last_branch is not None and driver_branch(row.driver) > row.last_branch:
            yield f"gpu_families.family {row.sm}: first driver {row.driver}, last branch {row.last_branch}"
        opened = f"gpu_families.family {row.sm}: open modules from {row.open_driver}"
        if row.open_driver and row.modules != "either":
            yield f"{opened}, and it takes {row.modules}"
        elif row.open_driver and row.driver and Version(row.open_driver) <= Version(row.driver):
            yield f"{opened}, and first driver {row.driver}"


def _machines_have_products() -> Iterator[str]:
    """What is sold with one kind of processor is a product that is known."""
    known = {row.name for row in gpu_products()}
    for row in facts(MachineGpus, "gpus", "machine"):
        unknown = ", ".join(name for name in row.products if name not in known)
        if unknown:
            yield f"gpus.machine {row.machine}: gpus.product has no {unknown}"


def _releases_of_other_tables_are_known() -> Iterator[str]:
    """What names a minor release of CUDA names one of cuda.release, from the first that stands there."""
    first = Version(cuda_releases()[0].minor)
    packages, systems = (
        facts(ForwardCompat, "forward_compat", "package"),
        facts(JetPack, "jetpacks", "jetpack"),
    )
    named = [
        *((f"forward_compat.package {row.cuda}", row.cuda) for row in packages),
        *((f"jetpacks.jetpack {row.jetpack}", cuda) for row in systems for cuda in (row.cuda, *row.upgrades)),
        *((_title(row), row.cuda) for row in _builds() if row.cuda),
        *((f"torch_lines.line {row.minor}", row.exercised) for row in torch_lines() if row.exercised),
    ]
    for where, cuda in named:
        if Version(cuda) >= first and cuda_release(cuda) is None:
            yield f"{where}: CUDA {cuda} is no release of cuda.toml"


def _torch_releases_are_whole() -> Iterator[str]:
    """Each minor release lies in one row of every table by release, and in its own range."""
    lines = torch_lines()
    releases = [release for row in lines for release in row.releases]
    for row in lines:
        yield from (
            f"torch_lines.line {row.minor}: {release} is not in {row.torch}"
            for release in row.releases
            if not in_range(release, row.torch)
        )
    ranges: tuple[tuple[str, Iterable[str]], ...] = (
        ("torch_lines.line", (row.torch for row in facts(TorchLine, "torch_lines", "line"))),
        ("torch_archs.archs", (row.torch for row in facts(TorchArchs, "torch_archs", "archs"))),
        ("torch_cmake.cmake", (row.torch for row in facts(TorchCMake, "torch_cmake", "cmake"))),
        ("host_compilers.torch", (row.torch for row in facts(TorchFact, "host_compilers", "torch"))),
    )
    for where, texts in ranges:
        yield from _held("torch_lines.line {1}", where, list(texts), releases)


def _official_builds_agree() -> Iterator[str]:
    """What upstream publishes is what torch, toolkit and libraries can be, or it was read wrongly."""
    minors = {row.minor: row for row in torch_lines()}
    for row in _builds():
        where = _title(row)
        line = minors.get(row.torch)
        if line is None:
            yield f"{where}: torch_lines has no such release"
            continue
        if row.cuda and line.cuda and not in_range(f"{row.cuda}.99", line.cuda):
            yield f"{where}: torch_lines says that the tree takes {line.cuda}"
        for library, version in (("cudnn", row.cudnn), ("nccl", row.nccl)):
            for least in minimums(library, line.releases[-1]) if version else ():
                if Version(version) < Version(least.least):
                    yield f"{where}: {library} {version}, and library_floors asks for {least.least}"
        yield from (f"{where}: {what}" for what in _foreign_archs(row))


def _foreign_archs(row: OfficialBuild) -> Iterator[str]:
    release = cuda_release(row.cuda) if row.cuda else None
    for arch in row.archs if release else ():
        sm = arch.removesuffix("+PTX").replace(".", "")
        window = arch_window(sm)
        if window is None or release is None or not in_range(release.version, window.cuda):
            yield f"{arch}, which CUDA {row.cuda} does not compile for"


def _builds() -> tuple[OfficialBuild, ...]:
    return facts(OfficialBuild, "official_builds", "build")


def _title(row: OfficialBuild) -> str:
    return f"official_builds.build {row.torch} / {row.machine} / {row.cuda}"


def _held(title: str, where: str, ranges: list[str], releases: Iterable[str]) -> Iterator[str]:
    """Each release lies in one of the ranges at least; in `title`, {0} is it and {1} its minor release."""
    sets = [SpecifierSet(text) for text in ranges]
    for release in releases:
        if not any(item.contains(release) for item in sets):
            at_fault = title.format(release, ".".join(release.split(".")[:2]))
            yield f"{at_fault}: no row of {where} holds {release}"


_CHECKS: tuple[Callable[[], Iterator[str]], ...] = (
    _drivers_only_rise,
    _floors_are_below_native,
    _toolkits_have_compilers,
    _chips_have_families,
    _families_have_drivers_in_order,
    _machines_have_products,
    _releases_of_other_tables_are_known,
    _torch_releases_are_whole,
    _official_builds_agree,
)
