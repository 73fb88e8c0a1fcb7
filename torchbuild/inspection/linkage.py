"""Whether the loader will find every library, where it was shipped, and each only once."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from torchbuild.inspection.archive import Contents
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.names import installed_path
from torchbuild.inspection.verdict import failed, settled, warned
from torchbuild.knowledge.platform_libraries import platform_libraries
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check"]

REFERENCES: tuple[str, ...] = ("elf-readable", "elf-machine", "elf-needed", "elf-rpath", "elf-duplicate")

_READABLE, _MACHINE, _NEEDED, _RPATH, _DUPLICATE = REFERENCES
_BUILD_PLACE = "where it was built"
_ORIGIN = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
_SHARED_NAME = re.compile(r"\.so(?:\.\d+)*$")
_LIBRARY_NAME = re.compile(r"lib.+\.so(?:\.\d+)*")


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:
    """Five verdicts; a file that cannot be read fails the first and is left out of the others."""
    loaded = [elf for elf in contents.elf if elf.kind in ("library", "program") and not elf.problem]
    seen, machine = f"{len(loaded)} files", expected.machine
    read, strange = _unreadable(contents), _other_machine(loaded, machine)
    missing, paths, twice = _not_found(loaded, expected), _bad_paths(loaded, expected), _twice(loaded)
    return (
        *settled(_READABLE, read, what="every ELF file is whole", seen=f"{len(contents.elf)} files"),
        *settled(_MACHINE, strange, what="for the target's machine", seen=machine),
        *settled(_NEEDED, missing, what="every needed library is found", seen=seen),
        *settled(_RPATH, paths, what="run paths stay inside the installation", seen=seen),
        *settled(_DUPLICATE, twice, what="no library is there twice", seen=seen),
    )


def _unreadable(contents: Contents) -> Iterator[Finding]:
    wanted = "a file that the loader takes"
    for elf in contents.elf:
        if elf.problem:
            yield failed(_READABLE, f"{elf.path} is no whole ELF file", seen=elf.problem, wanted=wanted)
    for member in contents.members:
        if member.name not in contents.files and _SHARED_NAME.search(member.name) and not member.problem:
            seen = f"{member.size} bytes of something else"
            yield failed(
                _READABLE, f"{member.name} is called a library and is no ELF file", seen=seen, wanted=wanted
            )


def _other_machine(files: Iterable[ElfFacts], machine: str) -> Iterator[Finding]:
    for elf in files:
        if elf.machine != machine:
            yield failed(_MACHINE, f"{elf.path} is for another machine", seen=elf.machine, wanted=machine)


def _not_found(files: Iterable[ElfFacts], expected: ExpectedWheel) -> Iterator[Finding]:
    """Strictly by the file's own run path, or by policy: what another file loaded first is luck."""
    files = list(files)
    shipped = {installed_path(elf.path) for elf in files}
    outside = platform_libraries(expected.machine) | set(expected.allowed_external)
    for elf in files:
        folder = posixpath.dirname(installed_path(elf.path))
        places = [place for part in elf.search_path if (place := _resolved(part, folder)) is not None]
        for name in elf.needed:
            if name in outside or any(posixpath.join(place, name) in shipped for place in places):
                continue
            seen = f"run path {':'.join(elf.search_path) or 'empty'}"
            wanted = f"a run path that leads to {name}, or {name} declared as external"
            yield _teller(elf)(_NEEDED, f"{elf.path} does not find {name}", seen=seen, wanted=wanted)


def _resolved(part: str, folder: str) -> str | None:
    """A part of a run path as a directory relative to site-packages; None where it leads outside."""
    if not _ORIGIN.match(part):
        return None
    path = posixpath.normpath(posixpath.join(folder or ".", "." + _ORIGIN.sub("", part, count=1)))
    if path.startswith(".."):
        return None
    return "" if path == "." else path


def _bad_paths(files: Iterable[ElfFacts], expected: ExpectedWheel) -> Iterator[Finding]:
    """One finding for each file and each kind of bad part."""
    for elf in files:
        parts: dict[str, list[str]] = defaultdict(list)
        for part in (*elf.rpath, *elf.runpath):
            parts[_path_fault(part, expected.forbidden_paths)].append(part or "an empty part")
        for fault, bad in parts.items():
            if fault:
                tell = failed if fault == _BUILD_PLACE else _teller(elf)
                wanted = "$ORIGIN and what follows it"
                yield tell(_RPATH, f"{elf.path} looks {fault}", seen=":".join(bad), wanted=wanted)


def _path_fault(part: str, forbidden: tuple[str, ...]) -> str:
    """What is wrong with a part of a run path; empty where nothing is."""
    if any(path in part for path in forbidden):
        return _BUILD_PLACE
    if part.startswith("/"):
        return "at an absolute place"
    return "" if _ORIGIN.match(part) else "into the current directory"


def _teller(elf: ElfFacts) -> Callable[..., Finding]:
    """A library is loaded by every import; a program beside it may never be started."""
    return failed if elf.kind == "library" else warned


def _twice(files: Iterable[ElfFacts]) -> Iterator[Finding]:
    files = list(files)
    told: set[tuple[str, ...]] = set()
    for kind, key in (("the same bytes", _bytes_key), ("the same library", _soname_key)):
        for group in _groups(files, key):
            names = tuple(elf.path for elf in group)
            if names in told:
                continue
            told.add(names)
            worst = min(group, key=lambda elf: elf.kind != "library")
            yield _teller(worst)(
                _DUPLICATE, f"{kind} {len(names)} times", seen=" ".join(names), wanted="one file"
            )


def _groups(files: list[ElfFacts], key: Callable[[ElfFacts], str]) -> Iterator[list[ElfFacts]]:
    groups: dict[str, list[ElfFacts]] = defaultdict(list)
    for elf in files:
        groups[key(elf)].append(elf)
    return (group for name, group in groups.items() if name and len(group) > 1)


def _bytes_key(elf: ElfFacts) -> str:
    return elf.sha256


def _soname_key(elf: ElfFacts) -> str:
    """The loader takes the first file of a soname for all: two are one library, whatever their bytes."""
    is_library = _LIBRARY_NAME.fullmatch(posixpath.basename(elf.path)) is not None
    return elf.soname if is_library and elf.kind == "library" else ""
