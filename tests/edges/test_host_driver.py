"""The NVIDIA driver, by the files of a kernel and by a library that was compiled here.

No test here has a GPU: formats are those that drivers are known to write, and the library answers as its
header says. What a real one tells is held by the same contract in tests/edges/test_look_gpus.py.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edges.nvml_stand_in import compiled
from torchbuild.edges.host_driver import (
    Kernel,
    Told,
    driver_of,
    kernel_driver,
    library_folders,
    told_by_library,
)
from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_programs import Answer
from torchbuild.model.host import Gpu

PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@box)  Mon Jan 1\n"
    "GCC version:\n"
)
OLD = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\n"
GRACE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build  (x@y)  Sun Jul 27\n"
)
INFORMATION = (
    "Model: \t\t NVIDIA GeForce GTX 1080 Ti\nIRQ:   \t\t 130\n"
    "GPU UUID: \t GPU-5a1b2c3d-0000-1111-2222-333344445555\nVideo BIOS: \t 86.02.39.00.01\n"
    "Bus Type: \t PCIe\nDMA Size: \t 47 bits\nBus Location: \t 0000:01:00.0\n"
)
UNUSED = "Model: \t\t Tesla K80\nGPU UUID: \t GPU-????????-????-????-????-????????????\n"


def laid(root: Path, texts: dict[str, str]) -> HostFiles:
    """Files of a system."""
    for name, text in texts.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostFiles(root)


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PROPRIETARY, ("535.129.03", "proprietary")),
        (OPEN, ("570.86.15", "open")),
        (OLD, ("470.256.02", "proprietary")),
        (GRACE, ("580.65.06", "open")),
        ("something else entirely\n", ("", "")),
        ("", ("", "")),
    ],
    ids=["proprietary", "open", "old", "arm", "unknown", "none"],
)
def test_the_kernel_tells_driver_and_modules(text: str, told: tuple[str, str], tmp_path: Path) -> None:
    """Open modules have another first line than proprietary ones."""
    seen = kernel_driver(laid(tmp_path, {"/proc/driver/nvidia/version": text}))

    assert (seen.driver, seen.modules) == told


def test_the_version_of_the_module_alone_is_enough(tmp_path: Path) -> None:
    """A container may have /sys and not the driver's own files; the kind of modules is then not known."""
    assert kernel_driver(laid(tmp_path, {"/sys/module/nvidia/version": "550.54.15\n"})) == Kernel("550.54.15")


def test_the_kernel_tells_gpus_by_name(tmp_path: Path) -> None:
    """Without a library there are names; a GPU that nobody used has no number yet."""
    place = "/proc/driver/nvidia/gpus"
    files = laid(
        tmp_path,
        {
            f"{place}/0000:01:00.0/information": INFORMATION,
            f"{place}/0000:02:00.0/information": UNUSED,
            f"{place}/0000:03:00.0/information": "nonsense",
        },
    )

    assert [(gpu.name, gpu.capability, gpu.uuid) for gpu in kernel_driver(files).gpus] == [
        ("NVIDIA GeForce GTX 1080 Ti", None, "GPU-5a1b2c3d-0000-1111-2222-333344445555"),
        ("Tesla K80", None, ""),
    ]


def test_a_machine_without_nvidia_lacks_nothing(tmp_path: Path, glances: Glances) -> None:
    """No driver, no GPU, and nothing that could not be seen: no program is started for it."""
    seen = driver_of(HostFiles(tmp_path), {}, "x86_64", glances)

    assert (seen.driver, seen.gpus, seen.driver_cuda, glances.noted()) == ("", (), "", ())


def test_a_card_without_a_driver_is_told(tmp_path: Path, glances: Glances) -> None:
    """As after an upgrade of the kernel; a network card of the same vendor is no such card."""
    place = "/sys/bus/pci/devices"
    files = laid(
        tmp_path,
        {
            f"{place}/0000:01:00.0/vendor": "0x10de\n",
            f"{place}/0000:01:00.0/class": "0x030000\n",
            f"{place}/0000:01:00.1/vendor": "0x10de\n",
            f"{place}/0000:01:00.1/class": "0x040300\n",
            f"{place}/0000:02:00.0/vendor": "0x8086\n",
            f"{place}/0000:02:00.0/class": "0x030000\n",
        },
    )
    driver_of(files, {}, "x86_64", glances)

    assert [(item.what, item.why[:15]) for item in glances.noted()] == [("driver", "1 NVIDIA cards ")]


def test_a_library_tells_what_the_kernel_does_not(tmp_path: Path, glances: Glances) -> None:
    """Capabilities, memory, and the CUDA that the driver runs."""
    compiled(tmp_path / "usr/lib/x86_64-linux-gnu")
    files = laid(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY})
    seen = driver_of(files, {}, "x86_64", glances)

    assert (seen.driver, seen.modules, seen.driver_cuda) == ("535.129.03", "proprietary", "12.2")
    assert [(gpu.capability, gpu.uuid) for gpu in seen.gpus] == [(61, "GPU-1"), (90, "GPU-2")]
    assert glances.noted() == ()


def test_with_a_library_that_fails_the_kernels_words_are_left(tmp_path: Path, glances: Glances) -> None:
    """And that something is missing is told."""
    compiled(tmp_path / "usr/lib64", "INIT=18")
    name = "/proc/driver/nvidia/gpus/0000:01:00.0/information"
    files = laid(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY, name: INFORMATION})
    seen = driver_of(files, {}, "x86_64", glances)

    assert (seen.driver, seen.driver_cuda) == ("535.129.03", "")
    assert [gpu.name for gpu in seen.gpus] == ["NVIDIA GeForce GTX 1080 Ti"]
    assert [item.what for item in glances.noted()] == ["gpus"]
    assert "mismatch" in glances.noted()[0].why


@pytest.mark.parametrize("how", ["HANG", "CRASH"])
def test_a_library_that_hangs_or_crashes_takes_nothing_with_it(how: str, tmp_path: Path) -> None:
    """It runs in a process of its own."""
    compiled(tmp_path / "usr/lib64", how)
    files = laid(tmp_path, {"/sys/module/nvidia/version": "535.129.03\n"})
    began = time.monotonic()
    with Glances(2.5) as glances:
        seen = driver_of(files, {}, "x86_64", glances)

        assert (seen.driver, [item.what for item in glances.noted()]) == ("535.129.03", ["gpus"])
    assert time.monotonic() - began < 10


def test_libraries_of_another_driver_are_told(tmp_path: Path, glances: Glances) -> None:
    """A container's or an upgrade's libcuda beside an older kernel module."""
    folder = tmp_path / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.550.54.15").touch()
    (folder / "libcuda.so.1").symlink_to("libcuda.so.550.54.15")
    stubs = tmp_path / "usr/local/cuda/lib64/stubs"
    stubs.mkdir(parents=True)
    (stubs / "libcuda.so.1").touch()
    files = laid(
        tmp_path,
        {
            "/sys/module/nvidia/version": "535.129.03\n",
            "/etc/ld.so.conf.d/x.conf": "/usr/local/cuda/lib64/stubs\n",
        },
    )
    seen = driver_of(files, {}, "x86_64", glances)

    assert (seen.driver, seen.driver_library) == ("535.129.03", "550.54.15")
    assert seen.driver_libraries == (str(folder / "libcuda.so.550.54.15"),)


def test_one_driver_is_not_told_twice(tmp_path: Path, glances: Glances) -> None:
    """Libraries and kernel of one release are one driver."""
    folder = tmp_path / "usr/lib64"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.535.129.03").touch()
    (folder / "libcuda.so.1").symlink_to("libcuda.so.535.129.03")
    files = laid(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY})

    assert driver_of(files, {}, "x86_64", glances).driver_library == ""


def test_folders_stand_in_the_loaders_order(tmp_path: Path) -> None:
    """The variable, the configuration, then where installers put a driver."""
    files = laid(
        tmp_path,
        {
            "/etc/ld.so.conf": "include ld.so.conf.d/*.conf\n/opt/a\n",
            "/etc/ld.so.conf.d/wsl.conf": "/usr/lib/wsl/lib\n",
        },
    )
    seen = library_folders(files, {"LD_LIBRARY_PATH": "/first::relative"}, "aarch64")

    assert seen[:4] == ("/first", "/opt/a", "/usr/lib/wsl/lib", "/usr/lib/aarch64-linux-gnu")
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            json.dumps({"driver": "580.65.06", "cuda": 13000, "gpus": [], "failed": []}),
            Told("580.65.06", "13.0"),
        ),
        (
            json.dumps(
                {
                    "driver": "1.2",
                    "cuda": 0,
                    "gpus": [{"name": "T4", "uuid": "", "capability": None, "memory": None}],
                    "failed": ["x"],
                }
            ),
            Told("1.2", "", (Gpu(name="T4", capability=None, memory=None),), ("x",)),
        ),
    ],
    ids=["whole", "partial"],
)
def test_an_answer_is_taken_as_it_is(text: str, told: Told) -> None:
    """The library's number 13000 is CUDA 13.0."""
    assert told_by_library(Answer(text, "")) == told


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "no", '{"driver": 5, "cuda": "x", "gpus": [], "failed": []}']
)
def test_an_answer_that_is_none_is_told(text: str) -> None:
    """Whatever came out of the process."""
    seen = told_by_library(Answer(text, ""))

    assert (seen.gpus, len(seen.failed)) == ((), 1)


def test_a_forward_compatibility_library_is_no_broken_driver(tmp_path: Path, glances: Glances) -> None:
    """It is newer than the kernel's driver on purpose: no restart mends that."""
    files = laid(tmp_path, {"/proc/driver/nvidia/version": OLD})
    for folder, version in (("/opt/cuda/compat", "550.54.15"), ("/usr/lib64", "470.256.02")):
        place = files.place(folder)
        place.mkdir(parents=True)
        (place / f"libcuda.so.{version}").touch()
        (place / "libcuda.so.1").symlink_to(f"libcuda.so.{version}")
    seen = driver_of(files, {"LD_LIBRARY_PATH": "/opt/cuda/compat"}, "x86_64", glances)

    assert seen.driver_library == ""
    assert [Path(path).name for path in seen.driver_libraries] == [
        "libcuda.so.550.54.15",
        "libcuda.so.470.256.02",
    ]
