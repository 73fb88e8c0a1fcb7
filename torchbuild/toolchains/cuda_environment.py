"""The names under which finders look for a toolkit: all of them, and all the same path."""

from __future__ import annotations

from torchbuild.model.part import LockedPart

__all__ = ["DIRECTORIES", "HOSTS", "NVCCS", "cuda_environment", "cuda_path"]

DIRECTORIES = ("CUDA_BIN_PATH", "CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")
"""The toolkit's directory. FindCUDA reads CUDA_BIN_PATH as one, whatever its name says."""
NVCCS = ("CMAKE_CUDA_COMPILER", "CUDACXX", "CUDA_NVCC_EXECUTABLE")
"""Its compiler."""
HOSTS = ("CMAKE_CUDA_HOST_COMPILER", "CUDAHOSTCXX", "NVCC_CCBIN")
"""The compiler behind it: nvcc takes the first g++ of PATH, not CXX, unless it is told."""
_VENV = "{venv}/bin"
"""Programs of the build's own environment, as a variable of a lock names them."""


def cuda_environment(part: LockedPart, cxx: str) -> dict[str, str]:
    """Variables of a build with this toolkit and this host compiler, sorted. PATH is `cuda_path`'s."""
    prefix = part.prefix
    found = dict.fromkeys(DIRECTORIES, prefix)
    found |= dict.fromkeys(NVCCS, f"{prefix.rstrip('/')}/bin/nvcc") | dict.fromkeys(HOSTS, cxx)
    return dict(sorted(found.items()))


def cuda_path(part: LockedPart, path: str) -> str:
    """PATH with the toolkit's programs before the builder's; as it was where it names them, such as /usr/bin.

    The build's own environment stays before both: its ninja is the gate's.
    """
    folders, ours = path.split(":"), f"{part.prefix.rstrip('/')}/bin"
    if ours in folders:
        return path
    first = 1 if folders[0] == _VENV else 0
    return ":".join([*folders[:first], ours, *folders[first:]])
