"""What a wheel is, read without judging it."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["ElfFacts", "ElfKind", "WheelFacts"]

ElfKind = Literal["library", "program", "object", "device code"]


class ElfFacts(Frozen):
    """One ELF file of a wheel. Texts out of the file are escaped, so that they can be shown."""

    path: str
    """Its name in the wheel."""
    sha256: str
    """Digest of its bytes."""
    size: int
    """Bytes."""
    kind: ElfKind = "library"
    """``program``: started, not loaded. ``device code``: made for a GPU. ``object``: relocatable or core."""
    machine: str = ""
    """``x86_64``, ``aarch64``, or what the ELF header calls it."""
    soname: str = ""
    """What the loader calls it; empty where it has no such name."""
    needed: tuple[str, ...] = ()
    """Libraries it asks the loader for, in order."""
    rpath: tuple[str, ...] = ()
    """DT_RPATH, split at colons; the loader ignores it where there is a run path."""
    runpath: tuple[str, ...] = ()
    """DT_RUNPATH, split at colons."""
    versions: tuple[str, ...] = ()
    """Version nodes it needs of its libraries, such as ``GLIBC_2.28``, each once, sorted."""
    problem: str = ""
    """Why it could not be read; then all that follows from reading it is empty."""

    @property
    def search_path(self) -> tuple[str, ...]:
        """Where the loader looks for what it needs, in order."""
        return self.runpath or self.rpath


class WheelFacts(Frozen):
    """A wheel, described."""

    file: str
    """The file's name."""
    name: str
    """Distribution name as METADATA spells it."""
    version: str
    """Version as METADATA spells it."""
    tags: tuple[str, ...]
    """Each compatibility tag of the file name, such as ``cp313-cp313-linux_x86_64``, sorted."""
    size: int
    """Bytes of the file."""
    sha256: str
    """Digest of the file."""
    members: int
    """Files in it."""
    installed_size: int
    """Bytes of those files, unpacked."""
    generator: str
    """What made it, as WHEEL says."""
    requires_dist: tuple[str, ...]
    """Run-time requirements as METADATA spells them, in order."""
    elf: tuple[ElfFacts, ...]
    """Its ELF files, by name."""
    glibc: str
    """Newest C library that any of them needs; empty where none needs one."""
    glibcxx: str
    """Newest GLIBCXX node, as a number such as ``3.4.30``; empty where none is needed."""
