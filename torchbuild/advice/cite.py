"""Facts as sentences: each row that a choice or a conflict hangs on, said once and in one way."""

from __future__ import annotations

from torchbuild.advice.answer import Cited
from torchbuild.knowledge.cuda import ArchWindow, CudaRelease, DriverFloor
from torchbuild.knowledge.drivers import EligibleLine, ForwardCompat, JetPack
from torchbuild.knowledge.fact import Fact
from torchbuild.knowledge.gpus import GpuFamily, GpuProduct, MachineGpus
from torchbuild.knowledge.host_compilers import GlibcFact, NvccFact, PairFact, TorchFact
from torchbuild.knowledge.interpreters import TorchPython
from torchbuild.knowledge.libraries import LowestChip, Minimum
from torchbuild.knowledge.library_releases import LibraryReleases
from torchbuild.knowledge.torch_releases import OfficialBuild, TorchArchs, TorchLine

__all__ = [
    "arch_window",
    "asked",
    "driver_floor",
    "eligible",
    "extension_glibc",
    "family",
    "forward",
    "jetpack",
    "library_releases",
    "lowest_chip",
    "machine",
    "minimum",
    "native",
    "nvcc",
    "official",
    "pair",
    "product",
    "torch_archs",
    "torch_compiler",
    "torch_line",
    "torch_python",
]

_MODULES = {
    "proprietary": "works with the proprietary kernel modules only",
    "either": "works with open and proprietary kernel modules",
    "open": "works with the open kernel modules only",
    "tegra": "has its driver from its own system image",
}


def _cited(table: str, row: str, says: str, fact: Fact) -> Cited:
    return Cited(table=table, row=row, says=says, source=fact.source, checked=fact.checked)


def asked(field: str, value: str) -> Cited:
    """What the wish says."""
    return Cited(table="wish", row=field, says=f"{field} {value} is asked for")


def arch_window(row: ArchWindow) -> Cited:
    """Which toolkits know an architecture."""
    return _cited("cuda.arch", row.sm, f"CUDA {row.cuda} compiles for sm_{row.sm}", row)


def driver_floor(row: DriverFloor) -> Cited:
    """The driver that programs of a major need."""
    return _cited(
        "cuda.floor", row.cuda, f"programs of CUDA {row.cuda} start on driver {row.driver} or newer", row
    )


def native(row: CudaRelease) -> Cited:
    """The driver on which nothing of a toolkit is limited."""
    own = row.native or row.driver
    says = f"driver {own} is the first that is as new as CUDA {row.version}, and can translate its PTX"
    return _cited("cuda.release", row.version, says, row)


def forward(row: ForwardCompat) -> Cited:
    """Where a forward-compatibility package works."""
    branches = ", ".join(str(item) for item in row.branches)
    says = f"the forward-compatibility package of CUDA {row.cuda} works on driver branches {branches}"
    return _cited("forward_compat.package", row.cuda, says, row)


def eligible(row: EligibleLine) -> Cited:
    """Whether a product line may use forward compatibility."""
    may = "may" if row.is_eligible else "may not"
    return _cited(
        "forward_compat.line", row.line, f"{row.line} products {may} use forward compatibility", row
    )


def family(row: GpuFamily) -> Cited:
    """Drivers and kernel modules of a chip."""
    first = f", driver {row.driver} is the first that knows it" if row.driver else ""
    opened = f", driver {row.open_driver} is the first with open modules for it" if row.open_driver else ""
    last = f", branch {row.last_branch} is the last that drives it" if row.last_branch is not None else ""
    says = f"{row.title} (sm_{row.sm}) {_MODULES[row.modules]}{first}{opened}{last}"
    return _cited("gpu_families.family", str(row.sm), says, row)


def product(row: GpuProduct) -> Cited:
    """What a product is."""
    numbers = " or ".join(f"{item // 10}.{item % 10}" for item in row.capabilities)
    first = f", driver {row.driver} is the first that names it" if row.driver else ""
    only = f", and {_MODULES[row.modules]}" if row.modules else ""
    return _cited("gpus.product", row.name, f"{row.name} has compute capability {numbers}{first}{only}", row)


def machine(row: MachineGpus) -> Cited:
    """Processors that GPUs are sold with."""
    says = f"{', '.join(row.products)} come with {row.machine} processors only"
    return _cited("gpus.machine", row.machine, says, row)


def jetpack(row: JetPack) -> Cited:
    """Toolkits of a Jetson's system image."""
    more = f", and with an upgrade package {', '.join(row.upgrades)}" if row.upgrades else ""
    return _cited("jetpacks.jetpack", row.jetpack, f"JetPack {row.jetpack} runs CUDA {row.cuda}{more}", row)


def lowest_chip(row: LowestChip) -> Cited:
    """The oldest chip in a library's binaries."""
    for_cuda = f" for CUDA {row.cuda}" if row.cuda else ""
    until = f" to below {row.before}" if row.before else " and later"
    last = f" to {row.highest}" if row.highest else " and newer"
    says = f"{row.library} {row.first}{until}{for_cuda} has code for sm_{row.lowest}{last} only"
    key = f"{row.library}/{row.cuda or 'any'}/{row.first}"
    return _cited("library_floors.chips", key, says, row)


def library_releases(row: LibraryReleases) -> Cited:
    """What was published for a toolkit."""
    says = f"releases of {row.library} for CUDA {row.cuda} go from {row.versions[0]} to {row.versions[-1]}"
    return _cited("library_releases.library", f"{row.library}/{row.cuda}", says, row)


def minimum(row: Minimum) -> Cited:
    """What a tree asks of a library."""
    says = f"torch {row.torch} takes {row.library} {row.least} or newer"
    return _cited("library_floors.minimum", f"{row.library}/{row.torch}/{row.least}", says, row)


def nvcc(row: NvccFact) -> Cited:
    """Host compilers of a toolkit."""
    return _cited("host_compilers.nvcc", row.cuda, f"nvcc of CUDA {row.cuda} takes gcc {row.gcc}", row)


def torch_compiler(row: TorchFact) -> Cited:
    """Host compilers of a torch."""
    says = f"torch {row.torch} is C++{row.standard} and needs gcc {row.gcc}"
    return _cited("host_compilers.torch", row.torch, says, row)


def pair(row: PairFact) -> Cited:
    """A combination that breaks."""
    return _cited("host_compilers.pair", row.name, f"gcc {row.gcc}: {row.what}", row)


def extension_glibc(row: GlibcFact) -> Cited:
    """Headers that contradict each other."""
    says = f"CUDA {row.cuda} with glibc {row.glibc}: {row.what}"
    return _cited("host_compilers.glibc", f"{row.cuda}/{row.glibc}", says, row)


def torch_line(row: TorchLine, of: str = "") -> Cited:
    """Toolkits that a tree accepts; `of` is the release that is meant where nobody read its own."""
    says = f"torch {row.minor} takes CUDA {row.cuda}" if row.cuda else f"torch {row.minor} is a known release"
    fact = _cited("torch_lines.line", row.minor, says, row)
    if of in ("", row.minor):
        return fact
    return fact.model_copy(update={"says": f"{says}; of {of} nobody read it", "checked": "unconfirmed"})


def torch_archs(row: TorchArchs) -> Cited:
    """Architectures that a tree can name."""
    says = f"torch {row.torch} knows the architectures {', '.join(row.archs)}"
    return _cited("torch_archs.archs", row.torch, says, row)


def torch_python(row: TorchPython) -> Cited:
    """Interpreters of a release."""
    also = f", and {row.experimental} as an experiment" if row.experimental else ""
    return _cited(
        "torch_python.release", row.torch, f"torch {row.torch} is for Python {row.python}{also}", row
    )


def official(row: OfficialBuild) -> Cited:
    """What upstream released."""
    archs = f" for {', '.join(row.archs)}" if row.archs else ""
    says = f"torch {row.torch} was released with CUDA {row.cuda}{archs}"
    return _cited("official_builds.build", f"{row.torch}/{row.machine}/{row.cuda}", says, row)
