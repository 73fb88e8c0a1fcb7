"""What the guest scripts of the libraries are asked: where things are, where else to look, and how to ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchbuild.knowledge.libraries import LibraryFact, library_fact, library_wheels
from torchbuild.model.part import LockedPart

__all__ = ["completion_request", "include_of", "library_path_of", "look_request"]

_INCLUDES = ("include", "include/cuda", "cuda/include", "targets/{target}/include")
_LIBRARIES = ("lib", "lib64", "lib/{machine}-linux-gnu", "cuda/lib64", "targets/{target}/lib")
_SYSTEM = ("/usr", "/usr/local")
_TARGETS = {"x86_64": "x86_64-linux", "aarch64": "sbsa-linux"}


def include_of(part: LockedPart) -> str:
    """Where a part's headers are."""
    return part.says.get("include") or f"{part.prefix.rstrip('/')}/include"


def library_path_of(part: LockedPart) -> str:
    """The file that is linked: known for parts of ours, else where somebody found it, else empty."""
    if part.says.get("library"):
        return part.says["library"]
    return f"{part.prefix}/lib/{library_fact(part.name).library}" if part.is_ours else ""


def completion_request(part: LockedPart) -> dict[str, Any]:
    """For ``complete_library.py``. No ``lib64``: which of two names is found would be CMake's choice."""
    return {"prefix": part.prefix, "folders": ["lib"], "programs": ["bin"], "lib64": False}


def look_request(
    part: LockedPart,
    *,
    cuda_home: str,
    cxx: str,
    scratch: str,
    machine: str = "x86_64",
    sites: Iterable[str] = (),
    searched: Iterable[str] = (),
) -> dict[str, Any]:
    """For ``look_library.py``.

    Args:
        part: the locked part.
        cuda_home: the toolkit, absolute.
        cxx: the host compiler, absolute.
        scratch: a directory for the small program, absolute.
        machine: processor family.
        sites: the site-packages of the build's Python environment, absolute.
        searched: further directories where CMake searches, such as those of CMAKE_PREFIX_PATH.
    """
    fact = library_fact(part.name)
    places = {"machine": machine, "target": _TARGETS.get(machine, f"{machine}-linux")}
    folders = [text.format(**places) for text in _LIBRARIES]
    return {
        "name": part.name,
        "prefix": part.prefix,
        "headers": [f"{include_of(part)}/{name}" for name in fact.headers],
        "libraries": _libraries(part, fact, folders),
        "program": fact.program,
        "cxx": cxx,
        "scratch": scratch,
        "includes": [f"{cuda_home}/include"],
        "library_path": [f"{cuda_home}/lib64", *(_below(part, name) for name in folders[:2])],
        "include_folders": [text.format(**places) for text in _INCLUDES],
        "library_folders": folders,
        "roots": _roots(fact, part, cuda_home, tuple(sites), tuple(searched)),
        "sites": list(sites),
        **_how(fact),
    }


def _how(fact: LibraryFact) -> dict[str, Any]:
    """How the library tells what it is, which is the same wherever it lies."""
    return {
        "header": fact.headers[0],
        "versions": list(fact.versions),
        "macros": list(fact.macros),
        "library": fact.library,
        "call": fact.call.model_dump(),
        "cuda_call": fact.cuda_call.model_dump() if fact.cuda_call is not None else {},
        "says": fact.says,
        "distributions": fact.distributions,
    }


def _below(part: LockedPart, path: str) -> str:
    return f"{part.prefix.rstrip('/')}/{path}"


def _libraries(part: LockedPart, fact: LibraryFact, folders: list[str]) -> list[str]:
    """Where the library may be, the known place first."""
    places = [library_path_of(part), *(_below(part, f"{folder}/{fact.library}") for folder in folders)]
    return list(dict.fromkeys(path for path in places if path))


def _roots(
    fact: LibraryFact, part: LockedPart, cuda_home: str, sites: tuple[str, ...], searched: tuple[str, ...]
) -> list[dict[str, str]]:
    """Where a tree's search may come by, in the order in which it does."""
    wheels = dict.fromkeys(row.folder for row in library_wheels(part.name)) if fact.distributions else {}
    named = [
        *(("CMAKE_PREFIX_PATH", path) for path in searched),
        *(("the build's Python environment", f"{site}/{folder}") for site in sites for folder in wheels),
        ("the toolkit", cuda_home),
        *(("the system", path) for path in _SYSTEM),
    ]
    return [{"what": what, "path": path} for what, path in named]
