"""What a built torch's libraries say: what they ask the loader for, their GPU code, releases, texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile, MalformedError
from torchbuild.inspection.elf import read_elf
from torchbuild.inspection.elf_sections import read_sections
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.gpu_code import CodeObject, GpuCodeError, gpu_code
from torchbuild.inspection.likeness_follower import Follower
from torchbuild.inspection.likeness_frame import STACK, Frame, Stop
from torchbuild.inspection.likeness_image import Image
from torchbuild.inspection.text import shown
from torchbuild.model.gpu_arch import Arch

__all__ = ["CodeArchs", "code_archs", "loader_facts", "told_release", "wanted_text"]

_CHUNK = 1 << 20
_LONGEST_MATCH = 4096
_MOST_STEPS = 200
_PLACES = (STACK + 0x1000, STACK + 0x1100, STACK + 0x1200)
_NAME = re.compile(r"(?:sm|compute)_(\d+)([af]?)")


class CodeArchs(NamedTuple):
    """Architectures of the GPU code of a library."""

    most: tuple[str, ...]
    """Those that most of its compiled files have, as a recipe writes them."""
    some: tuple[str, ...]
    """Those that only a few have."""
    objects: int
    """Compiled files."""


def loader_facts(path: Path, name: str) -> ElfFacts:
    """What the loader reads of a library; nothing but its problem where it cannot be read."""
    try:
        size = path.stat().st_size
    except OSError as error:
        return ElfFacts(path=name, sha256="", size=0, problem=error.strerror or "unreadable")
    return read_elf(path, name=name, sha256="", size=size)


def code_archs(paths: Iterable[Path]) -> CodeArchs | str:
    """The architectures of several libraries together; or why they cannot be read."""
    objects: list[CodeObject] = []
    try:
        for path in paths:
            objects += gpu_code(path, path.name).effective
    except GpuCodeError as error:
        return str(error)
    objects = [item for item in objects if item.sass or item.ptx]
    if not objects:
        return "no GPU code is in it"
    real, virtual = _counted(item.sass for item in objects), _counted(item.ptx for item in objects)
    most = {arch for arch, number in real.items() if number * 2 > len(objects)}
    ptx = {arch for arch, number in virtual.items() if number * 2 > len(objects)}
    if not ptx <= most:
        return "it has PTX of an architecture that it has no machine code for, which no recipe can say"
    return CodeArchs(
        tuple(Arch(*arch, has_ptx=arch in ptx).torch_item for arch in sorted(most)),
        tuple(Arch(*arch, has_ptx=arch in virtual).torch_item for arch in sorted(real.keys() - most)),
        len(objects),
    )


def _counted(names: Iterable[tuple[str, ...]]) -> Counter[tuple[int, str]]:
    """In how many files each architecture is."""
    found: Counter[tuple[int, str]] = Counter()
    for item in names:
        found.update({(int(match[1]), match[2]) for name in item if (match := _NAME.fullmatch(name))})
    return found


def told_release(path: Path, symbol: str, tells: str) -> str:
    """The release that a function of a library tells, without running it; empty where it cannot be read."""
    try:
        with path.open("rb", buffering=0) as stream:
            return _told(BoundedFile(stream.fileno()), symbol, tells)
    except (OSError, MalformedError, Stop):
        return ""


def _told(file: BoundedFile, symbol: str, tells: str) -> str:
    image = Image(file)
    found = image.symbol(symbol)
    if found is None:
        return ""
    frame = Frame(image, is_new_abi=True)
    follower = Follower(image, frame, found.address)
    follower.give(*_PLACES)
    try:
        for _ in range(_MOST_STEPS):
            follower.step()
    except Stop:
        if not follower.is_over:
            return ""
    if tells == "fields":
        value = follower.returned
        numbers = [] if value is None else [value >> 32, value >> 16 & 0xFFFF, value & 0xFFFF]
    else:
        numbers = [number for place in _PLACES if (number := frame.load(place, 4)) is not None]
    return ".".join(map(str, numbers)) if len(numbers) == len(_PLACES) else ""


def wanted_text(path: Path, section: bytes, pattern: re.Pattern[bytes]) -> tuple[str, ...]:
    """Texts of a section that a pattern finds, its first group where it has one, each once."""
    found: dict[str, None] = {}
    try:
        with path.open("rb", buffering=0) as stream:
            file = BoundedFile(stream.fileno())
            for part in read_sections(file, 0, file.size, {section}).sections:
                for at in range(0, part.size, _CHUNK - _LONGEST_MATCH):
                    piece = file.at(part.position + at, min(_CHUNK, part.size - at))
                    for match in pattern.finditer(piece):
                        found[shown(match[match.lastindex or 0].decode("utf-8", "backslashreplace"))] = None
    except (OSError, MalformedError):
        return ()
    return tuple(found)
