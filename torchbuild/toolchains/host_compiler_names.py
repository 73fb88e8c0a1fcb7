"""One host compiler under all its names: CMake, FindCUDA, nvcc and NCCL's make each ask for another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from torchbuild.errors import ConflictError
from torchbuild.model.lock import Expectation

__all__ = [
    "allows_unsupported",
    "check_names",
    "compiler_environment",
    "compiler_expectations",
]

_CXX = ("CXX", "CUDAHOSTCXX", "CMAKE_CUDA_HOST_COMPILER", "CUDA_HOST_COMPILER", "NVCC_CCBIN")
"""CMake takes CUDAHOSTCXX, legacy FindCUDA CUDA_HOST_COMPILER, by default the C compiler; a bare nvcc, as in
NCCL's make, NVCC_CCBIN, by default the first g++ on PATH. A front end makes one out of another only where it
forwards it at all."""
_PREPEND = "NVCC_PREPEND_FLAGS"
"""nvcc 12.4 knows no NVCC_CCBIN, 13.0 does; each puts these before its arguments, and a later -ccbin wins."""
_CACHED = ("CMAKE_CUDA_HOST_COMPILER", "CUDA_HOST_COMPILER")
_NVCC_FLAGS = ("TORCH_NVCC_FLAGS", "CUDAFLAGS", "CMAKE_CUDA_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_CCBIN = re.compile(r"(?:^|[\s;])(?:-ccbin|--compiler-bindir)(?:[\s=;]+)(\S+)")
_UNSUPPORTED = "-allow-unsupported-compiler"


def compiler_environment(cc: str, cxx: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables of a CUDA build that all say the same; both eras' front ends hand on what CMake must have.

    Args:
        cc: the C compiler, absolute.
        cxx: the C++ compiler, absolute.
        environ: the recipe's ``build.env``, whose own flags for nvcc are kept. What comes back goes on top.
    """
    own = environ.get(_PREPEND, "")
    prepend = own if _CCBIN.search(own) else f"-ccbin {cxx} {own}".strip()
    return {"CC": cc, _PREPEND: prepend} | dict.fromkeys(_CXX, cxx)


def compiler_expectations(cxx: str) -> tuple[Expectation, ...]:
    """What the gate compares besides CMAKE_C_COMPILER and CMAKE_CXX_COMPILER."""
    return tuple(
        Expectation(
            reference="gate-compiler", key=key, kind="path", value=cxx, why="toolchain: one host compiler"
        )
        for key in _CACHED
    )


def allows_unsupported(environ: Mapping[str, str]) -> bool:
    """Whether nvcc is told to take any compiler, in whichever variable."""
    return any(_UNSUPPORTED in environ.get(name, "") for name in _NVCC_FLAGS)


def check_names(cxx: str, settings: Mapping[str, str]) -> None:
    """Refuse a recipe that gives nvcc another host compiler than the build's.

    Args:
        cxx: the compiler that was chosen, absolute.
        settings: the recipe's own variables and definitions: ``build.env`` and ``build.cmake``.

    Raises:
        ConflictError: ``host-compiler-two``.
    """
    others = tuple(_others(cxx, settings))
    if others:
        raise ConflictError(
            "host-compiler-two",
            f"the recipe has nvcc use another host compiler than {cxx}",
            why=(
                *others,
                f"wanted {cxx}, which compiles everything else: two would disagree about the same code",
            ),
            fix="Remove these, and name the compiler in toolchain.cxx.",
        )


def _others(cxx: str, settings: Mapping[str, str]) -> Iterator[str]:
    for name, value in sorted(settings.items()):
        if name in _CXX and not _same(value, cxx):
            yield f"seen {name}={value}"
        if name in _NVCC_FLAGS:
            yield from (
                f"seen -ccbin {path} in {name}" for path in _CCBIN.findall(value) if not _same(path, cxx)
            )


def _same(value: str, cxx: str) -> bool:
    """By path; a bare name is the compiler's own name, which is looked for where a build looks."""
    return posixpath.normpath(value) in (cxx, posixpath.basename(cxx))
