"""What an existing build of torch was made with, as its files say it. Nothing here is guessed."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["LikeLibrary", "LikeRuntime", "LikeSetting", "Likeness", "Read", "Unread"]

LikeRuntime = Literal["", "bundle", "depend", "builder"]


class Read(Frozen):
    """One value and where it stands; empty where there is none, or where `Likeness.unread` says why not."""

    value: str = ""
    """As it was read."""
    where: str = ""
    """The file, and the place in it: ``torch/version.py cuda``."""

    def __bool__(self) -> bool:
        """Whether there is a value."""
        return bool(self.value)


class LikeSetting(Frozen):
    """One build setting, as ``config.show()`` would print it."""

    name: str
    """Such as ``USE_NCCL``."""
    value: str
    """Such as ``1``, ``ON`` or ``mkl``; empty where the build has it empty, and then nothing is printed."""
    where: str
    """Where it was read from."""


class LikeLibrary(Frozen):
    """A library beside torch."""

    name: str
    """``cudnn``, ``nccl``, ``cusparselt``, ``nvshmem``, ``magma``."""
    state: Literal["shared", "static", "absent"]
    """How it is there."""
    version: str
    """Its release; empty where that could not be read."""
    where: str
    """Where it was read from."""


class Unread(Frozen):
    """What could not be read."""

    what: str
    """Such as ``BLAS release``, or the name of a setting."""
    why: str
    """One clause: ``two places disagree: METADATA says 9.1, cudnn_version 9.2``."""


class Likeness(Frozen):
    """All that was read of one build of torch."""

    subject: str
    """The wheel's file name, or the folder that torch is installed in."""
    version: Read = Read()
    """Public version: ``2.14.1``."""
    local: Read = Read()
    """Local version label, of the distribution or of ``torch.version``: ``cu130``."""
    python: Read = Read()
    """Interpreter that it is for, as a recipe writes it: ``3.11``, ``3.13t``."""
    glibc: Read = Read()
    """Oldest C library that its platform tag promises to run on: ``2.28``."""
    machine: Read = Read()
    """``x86_64`` or ``aarch64``."""
    commit: Read = Read()
    """Commit of the tree."""
    compiler: Read = Read()
    """Newest host compiler that left its name: ``GCC 13.3.1``."""
    cxx_abi: Read = Read()
    """``1`` for the new ABI of libstdc++, ``0`` for the old."""
    cuda: Read = Read()
    """Minor release of the toolkit, ``13.0``. Empty for a CPU build."""
    toolkit: Read = Read()
    """The toolkit's own release, ``13.0.3``, where a requirement names it."""
    is_cpu: bool = False
    """Whether it was read that it has no GPU code; False where that is not known."""
    archs: tuple[str, ...] = ()
    """GPU architectures as a recipe writes them: ``7.5``, ``9.0a``, ``12.0+PTX``."""
    archs_where: str = ""
    """Where those were read from."""
    archs_partly: tuple[str, ...] = ()
    """Architectures that only some of the files were compiled for: ``9.0a``."""
    libraries: tuple[LikeLibrary, ...] = ()
    """Each library beside torch of which anything was read."""
    blas: Read = Read()
    """``mkl``, ``open``, ...: what BLAS_INFO is."""
    blas_release: Read = Read()
    """The BLAS's own release."""
    blas_state: Read = Read()
    """``static`` or ``shared``."""
    openmp: Read = Read()
    """Name of the OpenMP runtime's file: ``libgomp.so.1``."""
    runtime: LikeRuntime = ""
    """Libraries from outside: in the wheel, required as wheels, or left to the system."""
    runtime_where: str = ""
    """What that was read from."""
    triton: Read = Read()
    """Requirement on triton as METADATA spells it."""
    numpy: Read = Read()
    """``2`` where it runs with numpy 2, ``1`` where with numpy 1 only."""
    settings: tuple[LikeSetting, ...] = ()
    """The build settings, in the order in which ``config.show()`` prints them."""
    settings_whole: bool = False
    """Whether those are all that ``config.show()`` prints."""
    flags: tuple[LikeSetting, ...] = ()
    """Switches that other files say, ``ON`` or ``OFF``, by name; not those of `settings`."""
    requires: tuple[str, ...] = ()
    """Requires-Dist of METADATA, in its order."""
    unread: tuple[Unread, ...] = ()
    """What could not be read, and why."""
    read_bytes: int = 0
    """Bytes that were unpacked or read."""

    def setting(self, name: str) -> str | None:
        """A build setting; None where it was not read."""
        return next((item.value for item in self.settings if item.name == name), None)

    def library(self, name: str) -> LikeLibrary | None:
        """A library beside torch; None where nothing was read of it."""
        return next((item for item in self.libraries if item.name == name), None)
