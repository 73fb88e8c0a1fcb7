"""The names under which finders look for a toolkit."""

from __future__ import annotations

from torchbuild.model.part import LockedPart
from torchbuild.toolchains.cuda_environment import cuda_environment, cuda_path

OURS = LockedPart(name="cuda", provider="wheels", version="13.0.2", prefix="/torchbuild/parts/cuda")
USR = LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr")


def test_all_names_are_the_same_path() -> None:
    """Directory, compiler and host compiler, however a finder calls them."""
    assert cuda_environment(OURS, "/usr/bin/g++-12") == {
        "CMAKE_CUDA_COMPILER": "/torchbuild/parts/cuda/bin/nvcc",
        "CMAKE_CUDA_HOST_COMPILER": "/usr/bin/g++-12",
        "CUDACXX": "/torchbuild/parts/cuda/bin/nvcc",
        "CUDAHOSTCXX": "/usr/bin/g++-12",
        "CUDAToolkit_ROOT": "/torchbuild/parts/cuda",
        "CUDA_BIN_PATH": "/torchbuild/parts/cuda",
        "CUDA_HOME": "/torchbuild/parts/cuda",
        "CUDA_NVCC_EXECUTABLE": "/torchbuild/parts/cuda/bin/nvcc",
        "CUDA_PATH": "/torchbuild/parts/cuda",
        "NVCC_CCBIN": "/usr/bin/g++-12",
    }


def test_a_distribution_s_toolkit_is_usr() -> None:
    """Debian's layout has no directory of its own."""
    found = cuda_environment(USR, "/usr/bin/cuda-g++")

    assert (found["CUDA_HOME"], found["CUDACXX"]) == ("/usr", "/usr/bin/nvcc")


def test_its_programs_come_before_the_builder_s_in_path() -> None:
    """After the build's own environment, unless PATH names them already: no toolkit's ninja is the gate's."""
    assert cuda_path(OURS, "{venv}/bin:/usr/bin") == "{venv}/bin:/torchbuild/parts/cuda/bin:/usr/bin"
    assert cuda_path(OURS, "/usr/bin:/bin") == "/torchbuild/parts/cuda/bin:/usr/bin:/bin"
    assert cuda_path(USR, "{venv}/bin:/usr/bin:/bin") == "{venv}/bin:/usr/bin:/bin"
