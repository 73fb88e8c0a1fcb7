"""What a wheel is asked to be. The lock's words, reduced to what a static look can decide."""

from __future__ import annotations

from torchbuild.model.frozen import Frozen

__all__ = ["ExpectedWheel"]


class ExpectedWheel(Frozen):
    """The wheel that was asked for."""

    distribution: str
    """Its name, in any spelling that normalises to the same."""
    version: str
    """Its version, whole: with the local label where there is one."""
    python_tag: str
    """The interpreter it is for, such as ``cp313``."""
    machine: str
    """``x86_64`` or ``aarch64``."""
    glibc: str
    """Newest C library that it may need, such as ``2.41``."""
    requires_dist: tuple[str, ...] | None = None
    """Run-time requirements, each a PEP 508 line; None where nobody fixed them, which is then not checked."""
    allowed_external: tuple[str, ...] = ()
    """Sonames beyond the platform policy that may come from outside the wheel."""
    forbidden_paths: tuple[str, ...] = ()
    """Text that no run path may hold: the places of the machine that built it."""
