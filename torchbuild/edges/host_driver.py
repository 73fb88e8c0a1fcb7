"""The NVIDIA driver: what the kernel tells of it, what its libraries are, and which GPUs it has.

The kernel's files tell the driver that runs and the kind of its modules; the management library, asked in a
process of its own, tells GPUs and the CUDA that the driver runs. Either can be missing: containers have the
library and not always the files, and a machine where only the files are left needs a restart.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchbuild.edges.host_programs import Answer, ask, table_told
from torchbuild.model.host import Gpu

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_files import HostFiles
    from torchbuild.edges.host_glances import Glances

__all__ = ["Driver", "Kernel", "Told", "driver_of", "kernel_driver", "library_folders", "told_by_library"]

_VERSION = r"[0-9]{2,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})?"
_PROC = "/proc/driver/nvidia"
_LIBRARY, _MANAGEMENT = "libcuda.so.1", "libnvidia-ml.so.1"
_SIGNS = (f"{_PROC}/version", "/sys/module/nvidia/version", "/dev/nvidiactl", "/dev/dxg")
_FOLDERS = (
    "/usr/lib/{machine}-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/{machine}-linux-gnu/nvidia/current",
    "/usr/lib/{machine}-linux-gnu/nvidia",
    "/usr/lib/{machine}-linux-gnu/tegra",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
)
"""Where drivers put their libraries, beside what the loader's own configuration names."""
_COMPAT = "compat"
"""Folder of a forward-compatibility library, which is newer than the kernel's driver on purpose."""
_VENDOR, _DISPLAY = "0x10de", "0x03"
_LOOK = Path(__file__).resolve().with_name("look_gpus.py")


class Kernel(NamedTuple):
    """What the kernel's files tell."""

    driver: str = ""
    modules: str = ""
    gpus: tuple[Gpu, ...] = ()


class Told(NamedTuple):
    """What the management library tells."""

    driver: str = ""
    cuda: str = ""
    gpus: tuple[Gpu, ...] = ()
    failed: tuple[str, ...] = ()


class Driver(NamedTuple):
    """As in `torchbuild.model.host.Host`."""

    driver: str = ""
    modules: str = ""
    driver_cuda: str = ""
    gpus: tuple[Gpu, ...] = ()
    driver_library: str = ""
    driver_libraries: tuple[str, ...] = ()


def driver_of(files: HostFiles, environ: Mapping[str, str], machine: str, glances: Glances) -> Driver:
    """The driver of this machine; what it should have told and did not is noted.

    Raises:
        OSError: a file of the kernel cannot be read.
    """
    folders = library_folders(files, environ, machine)
    libraries = _found(files, folders, _LIBRARY)
    management = _found(files, folders, _MANAGEMENT)
    kernel = kernel_driver(files)
    told = Told()
    if management or any(map(files.there, _SIGNS)):
        told = _ask_library(environ, management, glances)
    _note(files, kernel, told, glances)
    versions = [
        match[0]
        for path in (*libraries, *management)
        if _COMPAT not in Path(path).parts and (match := re.search(_VERSION, Path(path).name))
    ]
    driver = kernel.driver or told.driver
    library = next(iter(versions), "")
    return Driver(
        driver=driver,
        modules=kernel.modules,
        driver_cuda=told.cuda,
        gpus=told.gpus or kernel.gpus,
        driver_library=library if driver and library != driver else "",
        driver_libraries=libraries,
    )


def _note(files: HostFiles, kernel: Kernel, told: Told, glances: Glances) -> None:
    """What is missing although there is a driver, or a card; a machine without either lacks nothing."""
    if told.failed and (kernel.driver or told.driver or not told.gpus):
        glances.unseen("gpus", "; ".join(told.failed)[:1000])
    if not kernel.driver and not told.driver:
        cards = _cards(files)
        if cards:
            glances.unseen("driver", f"{cards} NVIDIA cards on the bus, and no NVIDIA driver is loaded")


def library_folders(files: HostFiles, environ: Mapping[str, str], machine: str) -> tuple[str, ...]:
    """Where the loader and a driver's installer put libraries, in the loader's order."""
    own = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    configured = []
    for name in (
        "/etc/ld.so.conf",
        *(f"/etc/ld.so.conf.d/{name}" for name in files.names("/etc/ld.so.conf.d")),
    ):
        configured += [line.strip() for line in files.text(name).splitlines() if line.strip().startswith("/")]
    known = [folder.format(machine=machine) for folder in _FOLDERS]
    return tuple(dict.fromkeys([*own, *configured, *known]))


def _found(files: HostFiles, folders: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Each file of that name, links followed; a stub for the linker is none."""
    paths = [files.place(f"{folder}/{name}") for folder in folders if Path(folder).name != "stubs"]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if path.exists()))


def kernel_driver(files: HostFiles) -> Kernel:
    """The driver whose modules the kernel has loaded.

    Raises:
        OSError: a file cannot be read.
    """
    text = files.text(f"{_PROC}/version")
    match = re.search(rf"Kernel Module\b.*?\s({_VERSION})\s", text + " ")
    loaded = files.text("/sys/module/nvidia/version").strip()
    modules = "" if match is None else "open" if "Open Kernel Module" in text else "proprietary"
    return Kernel(match[1] if match else loaded, modules, _listed(files))


def _listed(files: HostFiles) -> tuple[Gpu, ...]:
    """GPUs by their names; the kernel tells no more of them."""
    found = []
    for name in files.names(f"{_PROC}/gpus"):
        lines = files.text(f"{_PROC}/gpus/{name}/information").splitlines()
        told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        if told.get("Model"):
            found.append(Gpu(name=told["Model"], capability=None, memory=None, uuid=_uuid(told)))
    return tuple(found)


def _uuid(told: Mapping[str, str]) -> str:
    """A GPU that was not used yet has question marks for one."""
    uuid = told.get("GPU UUID", "")
    return "" if "?" in uuid else uuid


def _cards(files: HostFiles) -> int:
    """Display devices of this vendor on the bus."""
    place = "/sys/bus/pci/devices"
    return sum(
        files.text(f"{place}/{name}/vendor").strip() == _VENDOR
        and files.text(f"{place}/{name}/class").startswith(_DISPLAY)
        for name in files.names(place)
    )


def _ask_library(environ: Mapping[str, str], management: tuple[str, ...], glances: Glances) -> Told:
    """The library, found where it is even if the loader's own cache does not know it."""
    places = [environ.get("LD_LIBRARY_PATH", ""), *(str(Path(path).parent) for path in management)]
    variables = {"LD_LIBRARY_PATH": ":".join(filter(None, places)), "LC_ALL": "C.UTF-8"}
    return told_by_library(ask([sys.executable, "-I", str(_LOOK)], variables, glances))


def told_by_library(answer: Answer) -> Told:
    """What stands in the answer of `torchbuild.edges.look_gpus`."""
    if answer.why:
        return Told(failed=(f"the driver's library: {answer.why}",))
    try:
        seen: dict[str, Any] = table_told(answer.text)
        number = int(seen["cuda"])
        return Told(
            driver=seen["driver"],
            cuda=f"{number // 1000}.{number % 1000 // 10}" if number else "",
            gpus=tuple(Gpu(**gpu) for gpu in seen["gpus"]),
            failed=tuple(seen["failed"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        return Told(failed=(f"the driver's library: {error!r}"[:300],))
