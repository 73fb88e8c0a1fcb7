"""What somebody wants, before anything is chosen."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["Modules", "Wish"]

Modules = Literal["", "open", "proprietary"]


class Wish(Frozen):
    """A release of torch for a target; what is empty is not known, or left to us."""

    torch: str
    """Release, such as ``2.6`` or ``2.6.0``."""
    gpus: tuple[str, ...] = ()
    """Products, such as ``GTX 1080 Ti``, or architectures: ``sm_61``, ``6.1``. Empty: no GPU, a CPU wheel."""
    driver: str = ""
    """The oldest driver that the wheel will meet: ``535`` for a branch, ``535.129.03`` for a release."""
    modules: Modules = ""
    """Which kernel modules of the driver the target has."""
    forward_compat: bool = False
    """Whether the target has, or may get, NVIDIA's forward-compatibility package."""
    machine: Literal["x86_64", "aarch64"] = "x86_64"
    """Processor family."""
    glibc: str = ""
    """The target's C library, such as ``2.28``."""
    python: str = ""
    """Such as ``3.11``."""
    cuda: str = ""
    """A release of the toolkit that must be it, such as ``12.4`` or ``12.4.1``."""
    archs: tuple[str, ...] = ()
    """Architectures as a recipe writes them, such as ``9.0a`` or ``8.6+PTX``, that must be it."""
    cudnn: str = ""
    """A release of cuDNN that must be it; ``none`` for a build without."""
    nccl: str = ""
    """A release of NCCL that must be it; ``none`` for a build without."""
    gcc: str = ""
    """The version of the host compiler that must be it, such as ``15`` or ``13.3``."""
    builder_glibc: str = ""
    """The C library whose headers the build sees, such as ``2.41`` in Debian 13."""
