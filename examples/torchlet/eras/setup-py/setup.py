"""Front end: the environment to CMake, CMake to the package folder, that folder to a wheel.

`--cmake` configures again over a build folder that is there; `--cmake-only` ends after configuring.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from setuptools import Distribution, setup

from tools.torchlet_version import extra_requirements, wheel_version

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build"
PACKAGE = ROOT / "torchlet"

# What of the environment reaches CMake as -D.
PREFIXES = ("BUILD_", "USE_", "CMAKE_")
SUFFIXES = ("EXITCODE", "EXITCODE__TRYRUN_OUTPUT")
SAME_NAME = frozenset(
    {
        "BLAS",
        "CUDA_HOST_COMPILER",
        "CUDA_NVCC_EXECUTABLE",
        "TORCH_CUDA_ARCH_LIST",
    }
)
# Second choice: used where the variable on the right has no value of its own.
ALIASES = {
    "CUDAHOSTCXX": "CUDA_HOST_COMPILER",
    "CMAKE_CUDA_HOST_COMPILER": "CUDA_HOST_COMPILER",
    "CUDACXX": "CUDA_NVCC_EXECUTABLE",
    "CMAKE_CUDA_COMPILER": "CUDA_NVCC_EXECUTABLE",
}

# Commands that only look at the metadata.
WITHOUT_BUILD = frozenset({"clean", "egg_info", "sdist"})
SUBMODULE_MARKS = ("CMakeLists.txt", "Makefile", "setup.py", "LICENSE")


def is_on(name: str) -> bool:
    """Tell whether a switch of the environment is anything but off."""
    return os.environ.get(name, "ON").upper() not in {"OFF", "0", "NO", "FALSE", "N"}


def build_type() -> str:
    """Return the CMake build type that the environment asks for."""
    if named := os.environ.get("CMAKE_BUILD_TYPE"):
        return named
    if "DEBUG" in os.environ and is_on("DEBUG"):
        return "Debug"
    if "REL_WITH_DEB_INFO" in os.environ and is_on("REL_WITH_DEB_INFO"):
        return "RelWithDebInfo"
    return "Release"


def check_submodules() -> None:
    """End with what to do when a submodule is not checked out."""
    lines = (ROOT / ".gitmodules").read_text(encoding="utf-8").splitlines()
    for line in lines:
        key, _, path = line.partition("=")
        if key.strip() != "path":
            continue
        folder = ROOT / path.strip()
        if not any((folder / mark).exists() for mark in SUBMODULE_MARKS):
            sys.exit(
                f"Could not find any of {', '.join(SUBMODULE_MARKS)} in {folder}\n"
                "Did you run 'git submodule update --init --recursive'?"
            )


def forwarded(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the environment that CMake is given, under CMake's names."""
    options = {
        name: value
        for name, value in environment.items()
        if name in SAME_NAME or name.startswith(PREFIXES) or name.endswith(SUFFIXES)
    }
    for alias, name in ALIASES.items():
        if alias in environment:
            options.setdefault(name, environment[alias])
    return options


def cmake_options() -> dict[str, str]:
    """Return every -D of the configure step."""
    options = forwarded(os.environ)
    if "CMAKE_INSTALL_PREFIX" in options:
        sys.exit("CMAKE_INSTALL_PREFIX should not be in the environment: it is the package folder")
    prefixes = [sysconfig.get_path("purelib"), options.get("CMAKE_PREFIX_PATH", "")]
    return options | {
        "BUILD_PYTHON": str(True),
        "BUILD_TEST": str(is_on("BUILD_TEST")),
        "CMAKE_BUILD_TYPE": build_type(),
        "CMAKE_INSTALL_PREFIX": str(PACKAGE),
        "CMAKE_PREFIX_PATH": ";".join(prefix for prefix in prefixes if prefix),
        "Python_EXECUTABLE": sys.executable,
        "USE_NUMPY": str(is_on("USE_NUMPY")),
    }


def run_cmake(arguments: list[str]) -> None:
    """Run the cmake of PATH in the build folder."""
    cmake = shutil.which("cmake")
    if cmake is None:
        sys.exit("cmake is not on PATH")
    command = [cmake, *arguments]
    print(*command, flush=True)
    try:
        subprocess.run(command, cwd=BUILD, check=True)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def configure(*, again: bool) -> None:
    """Run the configure step, unless an earlier one left what a build needs."""
    is_configured = all((BUILD / name).exists() for name in ("CMakeCache.txt", "build.ninja"))
    if is_configured and not again:
        return
    BUILD.mkdir(exist_ok=True)
    options = cmake_options()
    run_cmake(["-GNinja", *(f"-D{name}={options[name]}" for name in sorted(options)), str(ROOT)])


def compile_and_install() -> None:
    """Build, and install into the package folder."""
    jobs = os.environ.get("MAX_JOBS")
    command = ["--build", ".", "--target", "install", "--config", build_type()]
    run_cmake([*command, "--", "-j", jobs] if jobs else command)


class BinaryDistribution(Distribution):
    """A distribution whose wheel is tied to interpreter and platform, as CMake's product is."""

    def has_ext_modules(self) -> bool:
        """Return true: setuptools knows of no extension module, but there is one."""
        return True


def main() -> None:
    """Build what the command needs, then hand over to setuptools."""
    again, only = (flag in sys.argv for flag in ("--cmake", "--cmake-only"))
    sys.argv = [argument for argument in sys.argv if argument not in {"--cmake", "--cmake-only"}]
    if not WITHOUT_BUILD.intersection(sys.argv):
        check_submodules()
        configure(again=again)
        if only:
            print("Finished running cmake.")
            return
        compile_and_install()
    setup(
        name="torchlet",
        version=wheel_version(),
        description="An example project: matrix products through a small C++ library",
        license_files=["third_party/*/LICENSE"],
        python_requires=">=3.10",
        install_requires=extra_requirements(),
        packages=["torchlet"],
        package_data={"torchlet": ["_C*.so", "*.pyi", "lib/*"]},
        distclass=BinaryDistribution,
    )


if __name__ == "__main__":
    main()
