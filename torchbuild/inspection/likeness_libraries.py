"""Libraries beside torch: which, how, which release; and where they come from at run time."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple

from packaging.utils import canonicalize_name

from torchbuild.inspection.likeness_code import told_release
from torchbuild.inspection.likeness_flags import Switches, on_or_off
from torchbuild.inspection.likeness_notes import Notes
from torchbuild.inspection.likeness_source import TorchFiles
from torchbuild.inspection.likeness_text import required, requirements
from torchbuild.knowledge.cuda_facts import cuda_wheels
from torchbuild.knowledge.fact import table_cache
from torchbuild.knowledge.likeness_signs import LibrarySign, library_signs, required_names
from torchbuild.knowledge.platform_libraries import platform_libraries
from torchbuild.model.likeness import LikeLibrary, LikeRuntime, Read

__all__ = ["Loaded", "beside", "openmp_runtime", "runtime_policy", "triton_requirement"]

_OWN = re.compile(r"lib(?:torch\w*|c10\w*|caffe2\w*|shm|aoti\w*|jitbackend\w*|backend_with\w*)\.so")
_OPENMP = re.compile(r"(?:lib(?:gomp|iomp5|omp))(?:-[0-9a-f]+)?\.so(?:\.[0-9]+)*")
_CUDA_MAJOR = re.compile(r"-cu[0-9]+$")
_LIBRARY = re.compile(r"lib.+\.so(?:\.\d+)*")


class Loaded(NamedTuple):
    """What the libraries that matter ask the loader for."""

    needed: Mapping[str, tuple[str, ...]]
    """By the library's name in site-packages."""
    requires: tuple[str, ...]
    """Requires-Dist."""
    metadata: str
    """Where that stands."""
    machine: str
    """Whose platform policy counts."""

    def askers(self, beginning: str) -> tuple[str, ...]:
        """Libraries that ask for one whose name begins like that."""
        return tuple(
            name for name, items in self.needed.items() if any(item.startswith(beginning) for item in items)
        )


def beside(files: TorchFiles, loaded: Loaded, told: Switches, notes: Notes) -> tuple[LikeLibrary, ...]:
    """Each library of which anything is said."""
    found = (_library(files, sign, loaded, told, notes) for sign in library_signs())
    return tuple(item for item in found if item is not None)


def _library(
    files: TorchFiles, sign: LibrarySign, loaded: Loaded, told: Switches, notes: Notes
) -> LikeLibrary | None:
    switch = on_or_off(told.value(sign.switch))
    askers = loaded.askers(sign.soname)
    code = _by_code(files, sign, loaded)
    if not askers and not code and switch != "ON":
        if switch == "OFF":
            return LikeLibrary(name=sign.name, state="absent", version="", where=f"{sign.switch}=OFF")
        return None
    if switch == "OFF":
        notes.miss(sign.name, f"{sign.switch} is off, and {(*askers, code.where)[0]} has it all the same")
        return None
    version, requirement = required(loaded.requires, sign.distribution) if sign.distribution else ("", "")
    read = notes.finest(
        f"release of {sign.name}",
        Read(value=version, where=f"{loaded.metadata} {requirement}"),
        told.read(sign.setting),
        code,
    )
    if not read and f"release of {sign.name}" not in {item.what for item in notes.unread}:
        notes.miss(f"release of {sign.name}", "no requirement, setting or function tells it")
    where = ", ".join(filter(None, (*(f"{name} asks for it" for name in askers[:1]), read.where)))
    return LikeLibrary(
        name=sign.name,
        state="shared" if askers else "static",
        version=read.value,
        where=where or f"{sign.switch}=ON",
    )


def _by_code(files: TorchFiles, sign: LibrarySign, loaded: Loaded) -> Read:
    if not sign.symbol:
        return Read()
    for name in loaded.needed:
        path = files.path(name)
        value = told_release(path, sign.symbol, sign.tells) if path is not None else ""
        if value:
            return Read(value=value, where=f"{name} {sign.symbol}")
    return Read()


def openmp_runtime(loaded: Loaded, notes: Notes) -> Read:
    """The OpenMP runtime that the libraries ask for."""
    found: dict[str, str] = {}
    for name, items in loaded.needed.items():
        for item in items:
            if _OPENMP.fullmatch(item):
                found.setdefault(item, name)
    return notes.agreed("OpenMP runtime", *(Read(value=item, where=name) for item, name in found.items()))


def runtime_policy(files: TorchFiles, loaded: Loaded, notes: Notes) -> tuple[LikeRuntime, str]:
    """Where the libraries from outside come from, and what shows it."""
    folders = (f"{files.package}/lib/", f"{files.package}.libs/")
    laid = {
        posixpath.basename(name)
        for name in files.names()
        if name.startswith(folders) and _LIBRARY.fullmatch(posixpath.basename(name))
    }
    platform = platform_libraries(loaded.machine) if loaded.machine else frozenset[str]()
    wanted = {item for items in loaded.needed.values() for item in items} - laid - platform
    wheels = {
        name
        for item in requirements(loaded.requires)
        if _is_library_wheel(name := canonicalize_name(item.name))
    }
    foreign = sorted(name for name in laid if not _OWN.fullmatch(name))
    if not loaded.needed:
        notes.miss("runtime policy", "no library of it can be read")
        return "", ""
    if wanted and wheels:
        return "depend", f"{loaded.metadata} requires {', '.join(sorted(wheels))}"
    if wanted:
        return "builder", f"nothing in it or required by it brings {', '.join(sorted(wanted)[:8])}"
    if foreign:
        return "bundle", f"it holds {', '.join(foreign[:8])}"
    return "", ""


def _is_library_wheel(name: str) -> bool:
    """Whether a distribution brings libraries of the toolkit, or beside it."""
    plain = _CUDA_MAJOR.sub("", name)
    return plain in _toolkit_wheels() or any(
        sign.distribution and name.startswith(sign.distribution) for sign in library_signs()
    )


@table_cache
def _toolkit_wheels() -> frozenset[str]:
    return frozenset((*required_names("toolkit"), *(name for row in cuda_wheels() for name in row.wheels)))


def triton_requirement(loaded: Loaded) -> Read:
    """The requirement on triton, without its marker."""
    wanted = required_names("triton")
    for item in requirements(loaded.requires):
        if canonicalize_name(item.name) in wanted and "extra" not in str(item.marker):
            return Read(value=f"{item.name}{item.specifier}", where=loaded.metadata)
    return Read()
