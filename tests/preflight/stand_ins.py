"""A machine on which nothing is wrong, and recipes: a test changes the one thing that it is about."""

from __future__ import annotations

from typing import Any

from torchbuild.advice.of_recipe import has_wish, wish_of
from torchbuild.advice.solve import solve
from torchbuild.model.host import Compiler, Disk, Engine, Gpu, Host, Interpreter, Nvcc
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight
from torchbuild.resolve.load import load_with_places

GIB = 1 << 30

CPU = """\
schema = 1
name = "some"
[source]
git = "https://git.example/pytorch.git"
ref = "v2.6.0"
[python]
version = "3.11"
[wheel]
version = "2.6.0"
"""
"""torch 2.6 for the CPU, on this machine."""

CUDA = (
    CPU
    + """\
[cuda]
version = "12.4.1"
from = "redist"
archs = ["7.5", "9.0"]
"""
)
"""The same with CUDA 12.4."""


def interpreter(**changed: Any) -> Interpreter:
    """Python 3.11 with its headers."""
    fields = {
        "path": "/usr/bin/python3.11", "version": "3.11.2", "is_venv": False, "base": "/usr/bin/python3.11",
        "include": "/usr/include/python3.11", "numpy": "", "found_by": "PATH", "machine": "x86_64",
        "is_shared": True,
    }  # fmt: skip
    return Interpreter.model_validate(fields | changed)


def disk(role: str, **changed: Any) -> Disk:
    """A roomy place of a disk."""
    fields = {
        "role": role, "path": f"/data/{role}", "free": 500 * GIB, "inodes": 10_000_000, "kind": "ext4",
        "is_writable": True, "is_noexec": False, "device": "8:1",
    }  # fmt: skip
    return Disk.model_validate(fields | changed)


def nvcc(version: str = "12.4.131", place: str = "/opt/cuda", **changed: Any) -> Nvcc:
    """A whole toolkit's."""
    fields = {
        "path": f"{place}/bin/nvcc", "real": f"{place}/bin/nvcc", "version": version, "found_by": "PATH",
        "archs": ("compute_50", "compute_75", "compute_80", "compute_90"), "toolkit": place,
        "headers": ".".join(version.split(".")[:2]),
    }  # fmt: skip
    return Nvcc.model_validate(fields | changed)


def gcc(version: str = "12.2.0", name: str = "g++", **changed: Any) -> Compiler:
    """A host compiler."""
    fields = {"name": name, "path": f"/usr/bin/{name}", "kind": "gcc", "version": version}
    return Compiler.model_validate(fields | changed)


def gpu(name: str = "NVIDIA H100 80GB HBM3", capability: int | None = 90) -> Gpu:
    """A GPU of this machine."""
    return Gpu(name=name, capability=capability, memory=80 * GIB)


def host(**changed: Any) -> Host:
    """A machine without a GPU on which everything can be built."""
    fields: dict[str, Any] = {
        "machine": "x86_64", "system": "Debian GNU/Linux 12", "distribution": "debian", "release": "12",
        "kernel": "6.1.0", "glibc": "2.36", "driver": "", "modules": "", "driver_cuda": "", "gpus": (),
        "nvccs": (), "compilers": (gcc(), gcc(name="gcc")), "interpreters": (interpreter(),),
        "engines": (Engine(name="podman", version="4.3", works=True, why="", gpu_runtime=""),),
        "has_namespaces": True, "disks": tuple(map(disk, ("temp", "store", "builds", "out"))), "cores": 8,
        "memory": 64 * GIB, "memory_limit": None, "memory_available": 60 * GIB, "clock": 1.9e9,
        "git": "2.39.5", "proxies": {}, "variables": {}, "installer_logs": (), "unseen": (),
    }  # fmt: skip
    return Host.model_validate(fields | changed)


def recipe(text: str) -> Recipe:
    """The recipe of a text, with all its rules."""
    return load_with_places("some.toml", lambda _name: text).recipe


def outcome(found: Any, reference: str) -> Preflight:
    """The one outcome of that reference."""
    (item,) = [row for row in found if row.reference == reference]
    assert isinstance(item, Preflight)
    return item


def case(text: str = "", *, facts: bool = False, machine: Host | None = None, **changed: Any) -> Case:
    """A question: a recipe's text, and what is changed of machine and case. The facts are asked with `facts`."""
    wanted = recipe(text) if text else None
    advice = solve(wish_of(wanted)) if facts and wanted is not None and has_wish(wanted) else None
    return Case(**{"host": machine or host(), "recipe": wanted, "advice": advice} | changed)
