"""A wheel that is built like torch's: the same files and the same functions, in a thousandth of the size."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["SETTINGS", "compiled", "settings_source", "torch_members", "write_wheel"]

SETTINGS = {
    "TORCH_VERSION": "2.6.0",
    "CXX_COMPILER": "/opt/rh/gcc-toolset-13/root/usr/bin/c++",
    "CXX_FLAGS": " -DUSE_KINETO -DUSE_FBGEMM=1 -O2, with a comma and more letters than any string holds in itself",
    "BUILD_TYPE": "Release",
    "BLAS_INFO": "mkl",
    "LAPACK_INFO": "mkl",
    "USE_CUDA": "1",
    "USE_ROCM": "OFF",
    "CUDA_VERSION": "12.4",
    "CUDNN_VERSION": "9.1.0",
    "USE_CUDNN": "ON",
    "COMMIT_SHA": "80afa71049cd69a3df32adcccb623b12cd7baa22",
    "USE_NCCL": "ON",
    "USE_MPI": "OFF",
    "USE_MKLDNN": "ON",
    "USE_OPENMP": "ON",
    "FORCE_FALLBACK_CUDA_MPI": "",
    "SIXTEEN_LETTERS": "sixteen letters!",
}
"""What the small library says of itself, in the order of its source."""

_CUDA = """
namespace torch::cuda::nccl {{ unsigned long long version() {{ return (2ull << 32) | (21 << 16) | 5; }} }}
extern "C" void magma_version(int* a, int* b, int* c) {{ if (a && b && c) {{ *a = 2; *b = 6; *c = 1; }} }}
static const char fat[] __attribute__((used, section(".none"))) = "{0}";
"""
_PYTHON = 'const char* names[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};'
_VERSION = (
    "__version__ = '2.6.0+cu124'\ndebug = False\ncuda: Optional[str] = '12.4'\ngit_version = '80afa71'\n"
)
_CONFIG = "#define AT_MKLDNN_ENABLED() 1\n#define CAFFE2_STATIC_LINK_CUDA() 0\n"
_CUDA_CONFIG = (
    "#define AT_CUDNN_ENABLED() 1\n#define AT_MAGMA_ENABLED() 1\n"
    '#define NVCC_FLAGS_EXTRA "-gencode;arch=compute_80,code=sm_80;'
    '-gencode;arch=compute_90,code=[sm_90,compute_90]"\n'
)
_TARGETS = '  INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_NCCL"\n'
_REQUIRES = (
    "filelock",
    'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"',
    "nvidia-nccl-cu12 (==2.21.5)",
    'triton==3.2.0; platform_system == "Linux"',
)


def settings_source(settings: Mapping[str, str]) -> str:
    """The function that torch keeps its settings in."""
    rows = ", ".join(f'{{"{key}", "{value}"}}' for key, value in settings.items())
    return f"""
#include <map>
#include <string>
namespace caffe2 {{
const std::map<std::string, std::string>& GetBuildOptions() {{
  static const std::map<std::string, std::string> kMap = {{{rows}}};
  return kMap;
}}
}}"""


@cache
def compiled(source: str, options: tuple[str, ...] = ("-O2",), needed: tuple[str, ...] = ()) -> bytes:
    """A shared library of C++ source; `needed` are sonames that it asks for."""
    with TemporaryDirectory(prefix="torch-like-") as name:
        folder = Path(name)
        for soname in needed:
            stub = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", soname, f"-Wl,-soname,{soname}"]
            subprocess.run(stub, input=b"", check=True, cwd=folder)
        links = ["-Wl,--no-as-needed", *needed] if needed else []
        command = ["g++", "-std=c++17", "-shared", "-fPIC", *options, "-x", "c++", "-", "-x", "none", *links]
        subprocess.run([*command, "-o", "out.so"], input=source.encode(), check=True, cwd=folder)
        return (folder / "out.so").read_bytes()


def torch_members(settings: Mapping[str, str] = SETTINGS) -> dict[str, bytes]:
    """Files of a CUDA build, by their names in site-packages."""
    return {
        "torch/version.py": _VERSION.encode(),
        "torch/_C.cpython-313-x86_64-linux-gnu.so": compiled("int c;"),
        "torch/include/ATen/Config.h": _CONFIG.encode(),
        "torch/include/ATen/cuda/CUDAConfig.h": _CUDA_CONFIG.encode(),
        "torch/share/cmake/Caffe2/Caffe2Targets.cmake": _TARGETS.encode(),
        "torch/lib/libtorch_cpu.so": compiled(settings_source(settings), needed=("libgomp.so.1",)),
        "torch/lib/libtorch_cuda.so": compiled(_CUDA.format(""), needed=("libcudnn.so.9", "libnccl.so.2")),
        "torch/lib/libtorch_python.so": compiled(_PYTHON),
        "torch/lib/libgomp.so.1": compiled("int g;"),
    }


def write_wheel(
    folder: Path,
    members: Mapping[str, bytes],
    requires: tuple[str, ...] = _REQUIRES,
    name: str = "torch-2.6.0-cp313-cp313-manylinux_2_28_x86_64.whl",
) -> Path:
    """A wheel of these files, with its metadata."""
    version, tag = name.split("-")[1], "-".join(name.removesuffix(".whl").split("-")[2:])
    info = f"torch-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", "Name: torch", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    whole = {
        **members,
        f"{info}/METADATA": "\n".join([*lines, "", "A text."]).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    wheel = folder / name
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in whole.items():
            archive.writestr(path, content)
    return wheel
