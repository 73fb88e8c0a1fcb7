"""GPU architectures: what a recipe writes, and the real and virtual ones that it means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Arch", "parse_arch", "wanted_ptx", "wanted_sass"]

_ARCH = re.compile(r"(?P<major>[1-9][0-9]?)\.(?P<minor>[0-9])(?P<family>[af]?)(?P<ptx>\+PTX)?")


@dataclass(frozen=True, order=True, slots=True)
class Arch:
    """One architecture of a recipe's list."""

    number: int
    """Ten times the compute capability: 90 for 9.0, 120 for 12.0."""
    suffix: str = ""
    """``a``: for this very chip; ``f``: for its family; else empty."""
    has_ptx: bool = False
    """Whether PTX goes with it, which newer chips can translate."""

    @property
    def real(self) -> str:
        """Machine code, such as ``sm_90a``."""
        return f"sm_{self.number}{self.suffix}"

    @property
    def virtual(self) -> str:
        """PTX, such as ``compute_90a``."""
        return f"compute_{self.number}{self.suffix}"

    @property
    def capability(self) -> str:
        """As torch writes it, without PTX: ``9.0a``."""
        return f"{self.number // 10}.{self.number % 10}{self.suffix}"

    @property
    def torch_item(self) -> str:
        """As it stands in ``TORCH_CUDA_ARCH_LIST``: ``9.0a+PTX``."""
        return self.capability + ("+PTX" if self.has_ptx else "")


def parse_arch(text: str) -> Arch:
    """``9.0``, ``9.0a``, ``12.0f`` or ``8.6+PTX``.

    Raises:
        ValueError: it is none of these.
    """
    found = _ARCH.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no architecture such as 9.0, 9.0a or 8.6+PTX")
    number = int(found["major"]) * 10 + int(found["minor"])
    return Arch(number, found["family"], found["ptx"] is not None)


def wanted_sass(archs: Iterable[str]) -> tuple[str, ...]:
    """The machine code that a list asks for, sorted: ``sm_75``, ``sm_90a``."""
    return tuple(item.real for item in sorted({parse_arch(text) for text in archs}))


def wanted_ptx(archs: Iterable[str]) -> tuple[str, ...]:
    """The PTX that a list asks for, sorted: ``compute_90``."""
    return tuple(item.virtual for item in sorted({parse_arch(text) for text in archs}) if item.has_ptx)
