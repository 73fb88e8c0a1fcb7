"""What an existing torch was built with, read from its files. It is never imported, nothing of it is run.

Two places that disagree make a value that is not known, and so does one that is missing: what could not be
read stands in `Likeness.unread`, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.glibc import newest_glibc
from torchbuild.inspection.likeness_code import code_archs, loader_facts, wanted_text
from torchbuild.inspection.likeness_flags import Switches, on_or_off, settings_of, switches
from torchbuild.inspection.likeness_identity import identity, metadata
from torchbuild.inspection.likeness_libraries import (
    Loaded,
    beside,
    openmp_runtime,
    runtime_policy,
    triton_requirement,
)
from torchbuild.inspection.likeness_notes import Notes
from torchbuild.inspection.likeness_settings import string_abi
from torchbuild.inspection.likeness_source import TorchFiles, find_installed, opened_wheel, require_torch
from torchbuild.inspection.likeness_text import archs_of_options, macros, required, version_values
from torchbuild.inspection.platform import release
from torchbuild.inspection.text import shown
from torchbuild.knowledge.likeness_signs import required_names
from torchbuild.model.likeness import Likeness, Read

__all__ = ["likeness_of", "read_likeness"]

_LONGEST_TEXT = 1 << 20
_OF_CUDA = ("libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so")
_READ = ("libtorch_cpu.so", "libtorch.so", *_OF_CUDA, "libtorch_cuda_linalg.so", "libtorch_nvshmem.so")
_ALSO_READ = ("libtorch_python.so", "libc10.so", "libc10_cuda.so")
_CUDA_CONFIG, _CUDA_OPTIONS = "include/ATen/cuda/CUDAConfig.h", "NVCC_FLAGS_EXTRA"
_NUMPY = re.compile(rb"numpy\.(_core|core)\._multiarray_umath")
_MKL_BUILD = re.compile(rb"Product\0([0-9]{8})\0[^\0]{0,40}Math Kernel Library Version \0")
_OPENBLAS = re.compile(rb"OpenBLAS ([0-9]+(?:\.[0-9]+)+)")
_COMPILER = re.compile(rb"GCC: \([^)\0]{0,200}\) ([0-9]+(?:\.[0-9]+)+)|(clang version [0-9]+(?:\.[0-9]+)+)")


def read_likeness(place: Path, *, scratch: Path | None = None) -> Likeness:
    """Read a wheel, or what is installed at a place.

    Args:
        place: a wheel, site-packages, the package's folder in it, or the prefix of an environment.
        scratch: a directory with room for its largest libraries, unpacked; the system's own where None.

    Raises:
        UsageError: ``like-not-found`` where it holds no torch.
        VerifyError: ``wheel-unreadable``.
        HostError: ``disk-full`` or ``not-writable``.
    """
    if place.is_dir():
        return likeness_of(find_installed(place))
    with opened_wheel(place, scratch) as files:
        return likeness_of(files)


def likeness_of(files: TorchFiles) -> Likeness:
    """Read one build.

    Raises:
        UsageError: ``like-not-found`` where no torch is in it.
        HostError: ``disk-full`` or ``not-writable`` where its libraries cannot be unpacked.
    """
    require_torch(files)
    notes = Notes()
    libraries = [f"{files.package}/lib/{name}" for name in (*_READ, *_ALSO_READ)]
    files.prepare(libraries)
    paths = {name: path for name in libraries if (path := files.path(name)) is not None}
    told = switches(files, notes, settings_of(files, notes))
    own = _own_version(files, notes)
    elf = tuple(loader_facts(path, name) for name, path in paths.items())
    for item in elf:
        if item.problem:
            notes.miss(item.path, item.problem)
    who = identity(files, notes, own, told.read("TORCH_VERSION"))
    who["glibc"] = _glibc(who["glibc"], elf, notes)
    where, found = metadata(files, "METADATA")
    requires = tuple(str(line).strip() for line in found.get_all("Requires-Dist", [])) if found else ()
    asked = {item.path: item.needed for item in elf if not item.problem}
    loaded = Loaded(asked, requires, where, who["machine"].value)
    found_fields = (
        who
        | _cuda(files, notes, told, own, loaded)
        | _of_libraries(files, notes, told, loaded)
        | _of_code(notes, told, paths, loaded)
    )
    archs = _archs(files, notes, paths) if found_fields["cuda"] else {}
    return Likeness.model_validate(
        {
            **found_fields,
            **archs,
            "subject": files.subject,
            "is_cpu": _is_cpu(files, told, own),
            "settings": told.settings,
            "settings_whole": told.is_whole,
            "flags": told.flags,
            "requires": tuple(map(shown, requires)),
            "unread": tuple(notes.unread),
            "read_bytes": files.read_bytes,
        }
    )


def _of_libraries(files: TorchFiles, notes: Notes, told: Switches, loaded: Loaded) -> dict[str, object]:
    policy, where = runtime_policy(files, loaded, notes)
    return {
        "libraries": beside(files, loaded, told, notes),
        "openmp": openmp_runtime(loaded, notes),
        "runtime": policy,
        "runtime_where": where,
        "triton": triton_requirement(loaded),
    }


def _of_code(notes: Notes, told: Switches, paths: dict[str, Path], loaded: Loaded) -> dict[str, object]:
    return {
        "compiler": _compiler(paths),
        "cxx_abi": _cxx_abi(paths),
        "blas": told.read("BLAS_INFO"),
        "blas_state": _blas_state(told, loaded),
        "blas_release": _blas_release(notes, told, paths),
        "numpy": _numpy(notes, paths),
    }


def _glibc(promised: Read, elf: tuple[ElfFacts, ...], notes: Notes) -> Read:
    """What the platform tag promises; nothing, and told, where the libraries need more than that."""
    wanted = newest_glibc(elf)
    if not promised or not wanted or (release(wanted) or ()) <= (release(promised.value) or ()):
        return promised
    why = f"{promised.where} promises {promised.value}, wrongly: libraries that were read need {wanted}"
    notes.miss("C library", why)
    return Read()


def _own_version(files: TorchFiles, notes: Notes) -> dict[str, str]:
    name = f"{files.package}/version.py"
    text = files.text(name, _LONGEST_TEXT)
    if text is None:
        notes.miss(name, "it is not there, or cannot be read")
        return {}
    return version_values(text.decode("utf-8", errors="backslashreplace"))


def _is_cpu(files: TorchFiles, told: Switches, own: dict[str, str]) -> bool:
    has_code = any(f"{files.package}/lib/{name}" in files.names() for name in _OF_CUDA)
    return own.get("cuda") == "" and not has_code and on_or_off(told.value("USE_CUDA")) != "ON"


def _cuda(
    files: TorchFiles, notes: Notes, told: Switches, own: dict[str, str], loaded: Loaded
) -> dict[str, object]:
    minor = notes.agreed(
        "CUDA release",
        Read(value=own.get("cuda", ""), where=f"{files.package}/version.py cuda"),
        told.read("CUDA_VERSION"),
    )
    toolkit = Read()
    for name in required_names("toolkit"):
        version, requirement = required(loaded.requires, name)
        if version:
            toolkit = Read(value=version, where=f"{loaded.metadata} {requirement}")
    if minor and toolkit and not f"{toolkit.value}.".startswith(f"{minor.value}."):
        says = f"{toolkit.where}, where {minor.where} says {minor.value}"
        notes.miss("toolkit's own release", f"places disagree: {says}")
        toolkit = Read()
    return {"cuda": minor, "toolkit": toolkit}


def _archs(files: TorchFiles, notes: Notes, paths: dict[str, Path]) -> dict[str, object]:
    """The list that the build was given: by its own header, and by the code itself."""
    name = f"{files.package}/{_CUDA_CONFIG}"
    text = files.text(name, _LONGEST_TEXT)
    options = macros(text.decode("utf-8", errors="backslashreplace")).get(_CUDA_OPTIONS, "") if text else ""
    by_header = archs_of_options(options)
    libraries = [f"{files.package}/lib/{library}" for library in _OF_CUDA]
    found = code_archs(paths[library] for library in libraries if library in paths)
    if isinstance(found, str):
        notes.miss("GPU architectures of the code", found)
        return {} if by_header is None else {"archs": by_header, "archs_where": f"{name} {_CUDA_OPTIONS}"}
    by_code = f"GPU code of most of {found.objects} files in {', '.join(x for x in libraries if x in paths)}"
    if by_header is not None and by_header != found.most:
        says = f"{name} says {' '.join(by_header)}, {by_code} says {' '.join(found.most)}"
        notes.miss("GPU architectures", f"places disagree: {says}")
        return {}
    where = f"{name} {_CUDA_OPTIONS}, {by_code}" if by_header is not None else by_code
    return {"archs": found.most, "archs_where": where, "archs_partly": found.some}


def _compiler(paths: dict[str, Path]) -> Read:
    """The newest compiler that left its name in the library for the CPU, with how many did."""
    for name, path in _cpu_library(paths):
        named = wanted_text(path, b".comment", _COMPILER)
        gcc = [item for item in named if item[:1].isdigit()]
        if gcc:
            newest = max(gcc, key=lambda item: tuple(map(int, item.split("."))))
            return Read(
                value=f"GCC {newest}", where=f"{name} .comment, the newest of {len(named)} named there"
            )
    return Read()


def _cxx_abi(paths: dict[str, Path]) -> Read:
    """By the name of a function that returns strings."""
    for name, path in _cpu_library(paths):
        with path.open("rb", buffering=0) as stream:
            abi = string_abi(BoundedFile(stream.fileno()))
        if abi:
            return Read(value=abi, where=f"{name}, names of its functions")
    return Read()


def _cpu_library(paths: dict[str, Path]) -> Iterable[tuple[str, Path]]:
    return ((name, path) for name, path in paths.items() if name.endswith("/libtorch_cpu.so"))


def _blas_state(told: Switches, loaded: Loaded) -> Read:
    blas = told.read("BLAS_INFO")
    names = {"mkl": "libmkl", "open": "libopenblas", "blis": "libblis"}
    if blas.value not in names:
        return Read()
    askers = loaded.askers(names[blas.value])
    if askers:
        return Read(value="shared", where=f"{askers[0]} asks for {names[blas.value]}")
    return Read(value="static", where=f"no library asks for {names[blas.value]}")


def _blas_release(notes: Notes, told: Switches, paths: dict[str, Path]) -> Read:
    """OpenBLAS has its release in a text; MKL has its day in one, and its release in none."""
    blas = told.value("BLAS_INFO")
    for name, path in _cpu_library(paths):
        if blas == "open":
            found = wanted_text(path, b".rodata", _OPENBLAS)
            if len(found) == 1:
                return Read(value=found[0], where=f"{name} .rodata")
        if blas == "mkl":
            found = wanted_text(path, b".rodata", _MKL_BUILD)
            built = f"; its build is {found[0]}" if len(found) == 1 else ""
            notes.miss("release of MKL", f"no text of the library has it{built}")
            return Read()
    if blas:
        notes.miss(f"release of the BLAS {blas!r}", "no text of the library has it")
    return Read()


def _numpy(notes: Notes, paths: dict[str, Path]) -> Read:
    """Code that was compiled with the headers of numpy 2 looks for both, other code for the first alone."""
    for name, path in paths.items():
        if name.endswith("/libtorch_python.so"):
            found = wanted_text(path, b".rodata", _NUMPY)
            if found:
                return Read(value="2" if "_core" in found else "1", where=f"{name} .rodata")
            notes.miss("numpy", f"{name} looks for none, or was built without")
    return Read()
