"""A look at the whole machine: the one that runs these tests, and ones that are made of files."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.edges.nvml_stand_in import compiled
from torchbuild.edges.host_probe import look_at_host
from torchbuild.model.host import Host


def program(path: Path, text: str) -> None:
    """A script that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """This machine."""
    place = tmp_path_factory.mktemp("place")
    return look_at_host({"store": place, "builds": place / "later"}, python=sys.executable)


def test_this_machine_is_seen(here: Host) -> None:
    """What every machine has is there."""
    assert (here.machine, here.kernel) == (os.uname().machine, os.uname().release)
    assert here.cores >= 1
    assert (here.memory or 0) > 1 << 28
    assert abs(here.clock - time.time()) < 600
    assert here.newest_file <= here.clock
    assert [disk.role for disk in here.disks] == ["temp", "store", "builds"]
    assert {engine.name for engine in here.engines} == {"podman", "docker", "apptainer", "rootfs"}


def test_the_recipes_interpreter_comes_first(here: Host) -> None:
    """It is asked like any other."""
    first = here.interpreters[0]

    assert (first.path, first.found_by, first.why) == (sys.executable, "recipe", "")
    assert first.version == ".".join(map(str, sys.version_info[:3]))


def test_a_look_can_be_written_down(here: Host) -> None:
    """And read again, for whoever judges it elsewhere."""
    again = Host.model_validate_json(here.model_dump_json())

    assert again == here
    assert json.loads(here.model_dump_json())["cores"] == here.cores


def test_a_machine_of_files_is_seen_as_it_is(tmp_path: Path) -> None:
    """GPUs, the driver, a toolkit and an engine of a machine that is not this one."""
    root, tools = tmp_path / "root", tmp_path / "bin"
    compiled(root / "usr/lib64")
    for name, text in {
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu\n",
        "etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    program(tools / "nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'; echo compute_90")
    program(tools / "podman", "echo podman version 5.2.0")
    program(tools / "git", "echo git version 2.45.1")
    environ = {"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(tmp_path), "USE_CUDA": "0"}
    host = look_at_host({}, environ=environ, root=root, patience_s=30)

    assert (host.distribution, host.release, host.git) == ("ubuntu", "22.04", "2.45.1")
    assert (host.driver, host.modules, host.driver_cuda) == ("535.129.03", "proprietary", "12.2")
    assert [gpu.capability for gpu in host.gpus] == [61, 90]
    assert [(nvcc.version, nvcc.archs) for nvcc in host.nvccs] == [("12.4.131", ("compute_90",))]
    assert [(one.name, one.gpu_runtime) for one in host.engines if one.works and one.version] == [
        ("podman", "cdi")
    ]
    assert (host.disks[0].path, host.variables) == (str(tmp_path), {"USE_CUDA": "0"})


def test_what_hangs_is_told_and_the_rest_is_there(tmp_path: Path) -> None:
    """A stuck daemon, a compiler that waits and a driver that does not come back cost their own answers."""
    root, tools = tmp_path / "root", tmp_path / "bin"
    compiled(root / "usr/lib64", "HANG")
    for name in ("docker", "nvcc", "gcc", "git", "python3"):
        program(tools / name, "exec sleep 50")
    began = time.monotonic()
    host = look_at_host({}, environ={"PATH": f"{tools}:/usr/bin:/bin"}, root=root, patience_s=2.5)

    assert time.monotonic() - began < 12
    why = {
        "docker": next(engine.why for engine in host.engines if engine.name == "docker"),
        "nvcc": host.nvccs[0].why,
        "gcc": next(one.why for one in host.compilers if one.path == f"{tools}/gcc"),
        "python3": next(one.why for one in host.interpreters if one.path == f"{tools}/python3"),
    }
    assert {name: text[:9] for name, text in why.items()} == dict.fromkeys(why, "no answer")
    assert {item.what for item in host.unseen} >= {"git", "gpus"}
    assert host.cores >= 1


def test_nothing_is_left_running(here: Host) -> None:
    """Neither threads nor descriptors, on a machine where everything answers."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    look_at_host({}, environ={"PATH": ""})

    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("look at")] == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_empty_machine_is_no_error(tmp_path: Path) -> None:
    """Nothing in PATH, no files: everything is told as not there."""
    host = look_at_host({}, environ={}, root=tmp_path)

    assert (host.driver, host.gpus, host.nvccs, host.compilers, host.git) == ("", (), (), (), "")
    assert (host.memory, host.memory_limit, host.distribution) == (None, None, "")
    assert [one.found_by for one in host.interpreters] == ["torchbuild"]
    assert [engine.works for engine in host.engines][:3] == [False, False, False]
