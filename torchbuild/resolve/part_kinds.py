"""Each part by its name: what makes it out of its pieces, what looks at it, and the checks that judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from torchbuild.errors import StageError
from torchbuild.knowledge.host_compilers import torch_fact
from torchbuild.model.command import BUILD_ROOT, Command
from torchbuild.model.finding import Finding
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart, PartName
from torchbuild.resolve.environment import full_environment
from torchbuild.toolchains import (
    blas_environment,
    blas_proof,
    cuda_proof,
    cuda_runfile,
    host_compiler_proof,
    library_look,
    library_proof,
    nccl_source,
    openmp_proof,
    python_proof,
    runfile_proof,
)
from torchbuild.toolchains.host_compiler_names import allows_unsupported
from torchbuild.toolchains.proof import Checks, Seen, Wanted
from torchbuild.toolchains.wished import LIBRARIES

__all__ = ["KINDS", "Guest", "Kind", "Program", "Step", "wanted_of"]

_SCRATCH = "{work}/tmp"
_SITES = f"{BUILD_ROOT}/venv/lib/{{python}}/site-packages"
_MAJOR_MINOR = 2
_WAIVER = "-allow-unsupported-compiler"
_OFF = ("OFF", "0", "FALSE", "NO", "N")


@dataclass(frozen=True, kw_only=True, slots=True)
class Guest:
    """A script that runs inside the build and prints what it sees."""

    script: str
    """Its file."""
    told: Callable[[LockedPart, Lock], Mapping[str, Any]]
    """What it is told, as JSON values; places may be written with placeholders."""
    checks: Checks = field(default_factory=lambda: MappingProxyType({}))
    """What is judged of that."""
    is_completion: bool = False
    """Whether what it prints is told to the looks that follow."""
    error: Callable[[LockedPart, tuple[Finding, ...], Seen, str], StageError | None] | None = None
    """What to raise where a check failed, with the cause and the log; None for the stage's own words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A program of others that must end well."""

    name: str
    """What it is called in logs."""
    commands: Callable[[LockedPart, Lock], tuple[Command, ...]]
    """Its commands; ``{jobs}`` stands for the compilers at a time."""
    says: Callable[[Wanted, str], Iterator[Finding]]
    """What is judged of what it printed."""


Step = Guest | Program


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """How one part is made whole and proven."""

    make: Callable[[LockedPart], tuple[Step, ...]]
    """What makes it of its pieces, in order; the next begins only where all was well."""
    looks: tuple[Guest, ...]
    """What proves it."""


def wanted_of(lock: Lock) -> Wanted:
    """What the parts of a lock are compared with."""
    cuda = lock.part("cuda")
    return Wanted(
        archs=lock.gpu_archs,
        cxx=lock.cxx,
        standard=_standard(lock),
        torch=lock.wheel.public_version if lock.wheel.package == "torch" else "",
        machine=lock.machine,
        cuda=".".join(cuda.version.split(".")[:_MAJOR_MINOR]) if cuda is not None else "",
    )


def _standard(lock: Lock) -> str:
    fact = torch_fact(lock.wheel.public_version) if lock.wheel.package == "torch" else None
    return fact.standard if fact is not None else "17"


def _environment(lock: Lock) -> dict[str, str]:
    return dict(full_environment(lock))


def _cuda_home(lock: Lock) -> str:
    cuda = lock.part("cuda")
    return cuda.prefix if cuda is not None else ""


def _make_cuda(part: LockedPart) -> tuple[Step, ...]:
    if not part.is_ours:
        return ()
    runfile = Guest(
        script="install_runfile.py",
        told=lambda part, _lock: cuda_runfile.install_request(
            part, _stored(part), f"{BUILD_ROOT}/parts/cuda-install"
        ),
        checks=runfile_proof.CHECKS,
        error=runfile_proof.install_error,
    )
    complete = Guest(
        script="complete_cuda.py",
        told=lambda part, lock: cuda_proof.complete_request(part, lock.cc, f"{_SCRATCH}/complete-cuda"),
        checks={"completed": _cuda_completed},
    )
    return (runfile, complete) if part.provider == "runfile" else (complete,)


def _stored(part: LockedPart) -> str:
    """Where a build sees the part's one file."""
    sha256 = part.pieces[0].artifact.sha256
    return f"{{store}}/sha256/{sha256[:2]}/{sha256}"


def _cuda_completed(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield cuda_proof.completed(seen)


def _look_at_cuda(part: LockedPart, lock: Lock) -> Mapping[str, Any]:
    environ = _environment(lock)
    if allows_unsupported(environ):
        # the tree hands it to nvcc in its own variable, which nvcc itself does not read
        environ["NVCC_APPEND_FLAGS"] = f"{environ.get('NVCC_APPEND_FLAGS', '')} {_WAIVER}".strip()
    return cuda_proof.look_request(part, wanted_of(lock), environ, f"{_SCRATCH}/look-cuda")


def _look_at_compilers(part: LockedPart, lock: Lock) -> Mapping[str, Any]:
    return {
        "cc": lock.cc,
        "cxx": lock.cxx,
        "cuda": part.prefix,
        "nvcc": f"{part.prefix.rstrip('/')}/bin/nvcc",
        "flags": [_WAIVER] if allows_unsupported(lock.environ) else [],
        "standard": wanted_of(lock).standard,
        "scratch": f"{_SCRATCH}/look-compilers",
    }


def _make_library(part: LockedPart) -> tuple[Step, ...]:
    if not part.is_ours:
        return ()
    complete = Guest(
        script="complete_library.py",
        told=lambda part, _lock: library_look.completion_request(part),
        checks={"completed": lambda _part, _wanted, seen: iter((library_proof.completed(seen),))},
    )
    if part.provider != "source":
        return (complete,)
    look = Guest(
        script="look_nccl_source.py",
        told=lambda _part, _lock: {"source": nccl_source.SOURCE, "build": nccl_source.BUILD},
        checks={"source": _nccl_source},
    )
    build = Program(name="nccl-build", commands=_build_nccl, says=_nccl_says)
    return (look, build, complete)


def _nccl_source(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield from nccl_source.source_findings(part, seen)


def _nccl_says(wanted: Wanted, log: str) -> Iterator[Finding]:
    yield from nccl_source.log_findings(wanted.archs, log)


def _build_nccl(part: LockedPart, lock: Lock) -> tuple[Command, ...]:
    home = _cuda_home(lock)
    libraries = f"/usr/lib/{lock.machine}-linux-gnu" if home == "/usr" else ""
    return nccl_source.build_commands(
        part, lock.gpu_archs, home, lock.cxx, cuda=wanted_of(lock).cuda, cuda_lib=libraries
    )


def _look_at_library(part: LockedPart, lock: Lock) -> Mapping[str, Any]:
    python = "python" + ".".join(lock.python.version.split(".")[:_MAJOR_MINOR])
    return library_look.look_request(
        part,
        cuda_home=_cuda_home(lock),
        cxx=lock.cxx,
        scratch=f"{_SCRATCH}/look-{part.name}",
        machine=lock.machine,
        sites=[_SITES.format(python=python)],
        searched=[path for path in re.split("[;:]", _searched(lock)) if path.startswith("/")],
    )


def _searched(lock: Lock) -> str:
    name = "CMAKE_PREFIX_PATH"
    return f"{lock.defines.get(name, '')};{lock.environ.get(name, '')}"


def _make_python(part: LockedPart) -> tuple[Step, ...]:
    if not part.is_ours:
        return ()
    told = {"prefix": part.prefix}
    return (
        Guest(
            script="complete_python.py",
            told=lambda _part, lock: told | {"cc": lock.cc, "cxx": lock.cxx},
            checks={"completed": lambda _part, _wanted, seen: iter((python_proof.completed(seen),))},
        ),
    )


def _look_at_python(_part: LockedPart, lock: Lock) -> Mapping[str, Any]:
    return {"executable": lock.python.executable, "cc": lock.cc, "scratch": f"{_SCRATCH}/look-python"}


def _make_algebra(part: LockedPart) -> tuple[Step, ...]:
    if not part.is_ours:
        return ()
    told = blas_environment.complete_request(part)
    return (Guest(script="complete_blas.py", is_completion=True, told=lambda _part, _lock: told),)


def _look_at_algebra(part: LockedPart, lock: Lock) -> Mapping[str, Any]:
    openmp = lock.part("openmp")
    is_off = lock.environ.get("USE_OPENMP", "ON").upper() in _OFF
    kind = openmp.says["openmp"] if openmp is not None else "none" if is_off else "gomp"
    scratch = f"{_SCRATCH}/look-{part.name}"
    return blas_environment.request_of(kind, {item.name: item for item in lock.parts}, lock.cc, scratch)


_LIBRARY = Kind(
    make=_make_library,
    looks=(Guest(script="look_library.py", told=_look_at_library, checks=library_proof.CHECKS),),
)
KINDS: Mapping[PartName, Kind] = {
    "python": Kind(
        make=_make_python,
        looks=(Guest(script="look_python.py", told=_look_at_python, checks=python_proof.CHECKS),),
    ),
    "cuda": Kind(
        make=_make_cuda,
        looks=(
            Guest(script="look_cuda.py", told=_look_at_cuda, checks=cuda_proof.CHECKS),
            Guest(script="look_compilers.py", told=_look_at_compilers, checks=host_compiler_proof.CHECKS),
        ),
    ),
    **dict.fromkeys(LIBRARIES, _LIBRARY),
    "blas": Kind(
        make=_make_algebra,
        looks=(Guest(script="look_blas.py", told=_look_at_algebra, checks=blas_proof.CHECKS),),
    ),
    "openmp": Kind(
        make=_make_algebra,
        looks=(Guest(script="look_blas.py", told=_look_at_algebra, checks=openmp_proof.CHECKS),),
    ),
}
"""Parts that this version can make and prove."""
