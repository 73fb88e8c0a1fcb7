"""The GPUs of a wish: a product's name or an architecture becomes a chip, or a conflict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import arch_window
from torchbuild.knowledge.gpus import GpuFamily, GpuProduct, gpu_family, gpu_product, near_products
from torchbuild.model.gpu_arch import Arch, parse_arch

__all__ = ["Case", "TargetGpu", "by_ptx_alone", "case_of", "chips_of", "runs_on"]

_CODE = re.compile(r"(?:sm_|compute_)([1-9][0-9]{1,2})([af]?)|([1-9][0-9]?)\.([0-9])([af]?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TargetGpu:
    """One GPU of the target."""

    asked: str
    """As it was asked for."""
    arch: Arch
    """Machine code of its own."""
    product: GpuProduct | None
    """What it is, where a product was named."""
    family: GpuFamily | None
    """What is known of its chip; None where nobody knows it."""

    @property
    def facts(self) -> tuple[Cited, ...]:
        """What says that it is this chip, and what the chip is."""
        named = (cite.product(self.product),) if self.product else ()
        return (*named, *((cite.family(self.family),) if self.family else ()))

    @property
    def line(self) -> str:
        """Its product line; empty where only an architecture was named."""
        return self.product.line if self.product else ""

    @property
    def modules(self) -> str:
        """Kernel modules that it works with: a product may be narrower than its chip."""
        own = self.product.modules if self.product else None
        return own or (self.family.modules if self.family else "")

    @property
    def of_modules(self) -> Cited:
        """What says so."""
        return self.facts[0] if self.product and self.product.modules else self.facts[-1]

    @property
    def is_tegra(self) -> bool:
        """Whether its driver is part of its own system image."""
        return self.family is not None and self.family.modules == "tegra"


@dataclass(frozen=True, slots=True)
class Case:
    """A wish whose GPUs are known."""

    wish: Wish
    """What was asked for."""
    gpus: tuple[TargetGpu, ...]
    """Each once, oldest chip first."""
    archs: tuple[Arch, ...]
    """What must be compiled for, sorted: what the wish lists, else each GPU's own."""

    @property
    def oldest(self) -> Arch | None:
        """The oldest architecture; None without any."""
        return min(self.archs, default=None)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Ten times each capability that libraries must have code for: of the GPUs, and of what is listed."""
        return tuple(sorted({item.arch.number for item in self.gpus} | {item.number for item in self.archs}))

    @property
    def has_cuda(self) -> bool:
        """Whether the wish is for a wheel with CUDA."""
        return bool(self.archs or self.wish.cuda)


def case_of(wish: Wish) -> tuple[Case, tuple[Conflict, ...]]:
    """The GPUs of a wish, and a conflict for each that cannot be told."""
    found: dict[str, TargetGpu] = {}
    conflicts = []
    for text in wish.gpus:
        answer = _gpu(text)
        if isinstance(answer, Conflict):
            conflicts.append(answer)
        else:
            found.setdefault(
                f"{answer.arch.real} {answer.line} {answer.product and answer.product.name}", answer
            )
    gpus = tuple(sorted(found.values(), key=lambda item: (item.arch, item.asked)))
    archs, unread = _listed(wish)
    chosen = archs or tuple(sorted({item.arch for item in gpus}))
    return Case(wish, gpus, chosen), (*conflicts, *unread)


def _gpu(text: str) -> TargetGpu | Conflict:
    code = _CODE.fullmatch(text.strip())
    if code:
        number = int(code[1]) if code[1] else int(code[3]) * 10 + int(code[4])
        arch = Arch(number, (code[2] or code[5] or "").lower())
        known = arch_window(f"{arch.number}{arch.suffix}") or gpu_family(number)
        return TargetGpu(text, arch, None, gpu_family(number)) if known else _unknown(text)
    product = gpu_product(text)
    if product is None:
        return _unknown(text)
    if len(product.capabilities) != 1:
        return _several(text, product)
    sm = product.capabilities[0]
    return TargetGpu(text, Arch(sm), product, gpu_family(sm))


def _unknown(text: str) -> Conflict:
    near = near_products(text)
    says = (
        f"products with such a name are {', '.join(near)}" if near else "no product with such a name is known"
    )
    known = Cited(table="gpus.product", row=near[0] if near else "", says=says)
    return Conflict(
        reference="gpu-unknown",
        what=f"{text!r} is no GPU that is known",
        facts=(cite.asked("gpus", text), known),
        fix=f"Say {near[0]}, or the architecture, such as sm_90: nvidia-smi --query-gpu=compute_cap tells it."
        if near
        else "Give the architecture, such as sm_90: nvidia-smi --query-gpu=compute_cap tells it.",
    )


def _several(text: str, product: GpuProduct) -> Conflict:
    codes = " or ".join(f"sm_{item}" for item in product.capabilities)
    return Conflict(
        reference="gpu-unknown",
        what=f"{product.name} is the name of several chips: {codes}",
        facts=(cite.asked("gpus", text), cite.product(product)),
        fix=f"Give {codes}: nvidia-smi --query-gpu=compute_cap tells which.",
    )


def _listed(wish: Wish) -> tuple[tuple[Arch, ...], tuple[Conflict, ...]]:
    """The architectures that a wish lists, and a conflict for each that is none."""
    archs, wrong = set(), []
    for text in wish.archs:
        try:
            archs.add(parse_arch(text))
        except ValueError:
            wrong.append(_unknown(text))
    return tuple(sorted(archs)), tuple(wrong)


def runs_on(arch: Arch, gpu: TargetGpu) -> bool:
    """Whether machine code for an architecture runs on a GPU, PTX left aside.

    Code for X.y runs on X.z of the same major with z >= y; with the suffix ``a`` on that very chip only.
    """
    if arch.suffix == "a":
        return arch.number == gpu.arch.number
    return arch.number // 10 == gpu.arch.number // 10 and arch.number <= gpu.arch.number


def chips_of(case: Case) -> Iterator[TargetGpu]:
    """One GPU of each architecture, oldest first."""
    seen: set[int] = set()
    for gpu in case.gpus:
        if gpu.arch.number not in seen:
            seen.add(gpu.arch.number)
            yield gpu


def by_ptx_alone(case: Case) -> Iterator[TargetGpu]:
    """GPUs that no machine code of the list runs on: what they get, a driver has to translate."""
    for gpu in chips_of(case):
        if not any(runs_on(arch, gpu) for arch in case.archs):
            yield gpu
