"""Every nvcc that a build could meet, asked for itself: the name of a variable or a folder proves nothing."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.host_programs import ask, kind_of, plain_environ
from torchbuild.model.host import Nvcc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchbuild.edges.host_files import HostFiles
    from torchbuild.edges.host_glances import Glances
    from torchbuild.edges.host_programs import Programs

__all__ = [
    "Place",
    "header_release",
    "look_at_nvcc",
    "nvcc_blank",
    "nvcc_places",
    "toolkit_told",
    "version_told",
]

_COMPILERS = ("CUDACXX", "CMAKE_CUDA_COMPILER")
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_ROOT")
_SHARED = (("/usr/local", r"cuda(?:-[0-9.]+)?"), ("/opt", r"cuda(?:-[0-9.]+)?"))
_HEADERS = ("include/cuda.h", "targets/*/include/cuda.h")
_MOST = 200_000


class Place(NamedTuple):
    """Where an nvcc may be."""

    path: str
    found_by: str

    def __str__(self) -> str:
        return self.path


def nvcc_places(
    files: HostFiles, environ: Mapping[str, str], programs: Programs, named: str = ""
) -> tuple[Place, ...]:
    """All places, in the order in which builds look: variables, PATH, shared folders. Each path once.

    Args:
        files: where the shared folders lie.
        environ: a variable's place is one whether there is a program or not.
        programs: what is in PATH.
        named: the recipe's, which comes before all others; empty for none.
    """
    places = [*told_places(environ, programs, named)]
    for folder, pattern in _SHARED:
        names = [name for name in files.names(folder) if re.fullmatch(pattern, name)]
        paths = [files.place(f"{folder}/{name}/bin/nvcc") for name in names]
        places += [Place(str(path), folder) for path in paths if path.exists()]
    return _once(places)


def told_places(environ: Mapping[str, str], programs: Programs, named: str = "") -> tuple[Place, ...]:
    """Those that a recipe, a variable or PATH tell of: no file is looked at for them."""
    places = [Place(named, "recipe")]
    for name in _COMPILERS:
        places += [Place(word, name) for word in _words(environ.get(name, ""))[-1:]]
    places += [
        Place(f"{environ[name].rstrip('/')}/bin/nvcc", name) for name in _TOOLKITS if environ.get(name)
    ]
    places += [Place(found.path, "PATH") for found in programs.matching("nvcc")]
    return _once(place for place in places if place.path.startswith("/"))


def _once(places: Iterable[Place]) -> tuple[Place, ...]:
    once: dict[str, Place] = {}
    for place in places:
        once.setdefault(place.path, place)
    return tuple(once.values())


def _words(value: str) -> list[str]:
    """The words of a variable that may name a cache before the compiler."""
    try:
        return shlex.split(value)
    except ValueError:
        return [value]


def look_at_nvcc(place: Place, environ: Mapping[str, str], glances: Glances) -> Nvcc:
    """What it is, and what it says."""
    real = os.path.realpath(place.path)
    try:
        kind = kind_of(place.path)
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError | NotADirectoryError)
        changed = {"real": real, "kind": "absent" if is_absent else "other"}
        return nvcc_blank(place, str(error.strerror or error)).model_copy(update=changed)
    plain = plain_environ(environ)
    said = ask([place.path, "--version"], plain, glances)
    version = version_told(said.text)
    listed = ask([place.path, "--list-gpu-arch"], plain, glances).text if version else ""
    toolkit = _toolkit(place, real, kind, plain, glances) if version else ""
    return Nvcc(
        path=place.path,
        real=real,
        version=version,
        archs=tuple(dict.fromkeys(re.findall(r"\bcompute_[0-9]+[af]?\b", listed))),
        found_by=place.found_by,
        kind=kind,
        toolkit=toolkit,
        headers=header_release(toolkit) if toolkit else "",
        why="" if version else said.why or f"no version in what it says: {said.text.strip()[:200]!r}",
    )


def nvcc_blank(place: Place, why: str = "no answer") -> Nvcc:
    """One of which nothing is known."""
    return Nvcc(
        path=place.path, real="", version="", archs=(), found_by=place.found_by, kind="other", why=why
    )


def version_told(text: str) -> str:
    """``12.4.131`` of ``Cuda compilation tools, release 12.4, V12.4.131``; empty for another program's."""
    match = re.search(r"Cuda compilation tools, release [0-9.]+, V([0-9]+(?:\.[0-9]+)+)", text)
    return match[1] if match else ""


def _toolkit(place: Place, real: str, kind: str, plain: Mapping[str, str], glances: Glances) -> str:
    """Where a program lies; a script or a cache has to tell where what it starts lies."""
    if kind == "program":
        return str(Path(real).parents[1])
    # the file need not exist: nothing is compiled
    said = ask([place.path, "--dryrun", "none.cu"], plain, glances, with_stderr=True)
    return toolkit_told(said.text)


def toolkit_told(text: str) -> str:
    """The directory in the words of a dry run, links followed; empty where it is not told."""
    match = re.search(r"^#\$ TOP=(/.*)$", text, re.MULTILINE)
    return os.path.realpath(match[1].strip()) if match else ""


def header_release(toolkit: str) -> str:
    """The release that a toolkit's ``cuda.h`` declares, ``12.4``; empty where there is none.

    Raises:
        OSError: it cannot be read.
    """
    for pattern in _HEADERS:
        for path in sorted(Path(toolkit).glob(pattern)):
            with path.open(encoding="utf-8", errors="replace") as file:
                match = re.search(r"^#define\s+CUDA_VERSION\s+([0-9]+)", file.read(_MOST), re.MULTILINE)
            number = int(match[1]) if match else 0
            if number:
                return f"{number // 1000}.{number % 1000 // 10}"
    return ""
