"""Wheels and ELF files made by code, so that no binary has to be kept."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel

MakeElf = Callable[..., bytes]
MakeWheel = Callable[..., Path]

_MACHINE_PLATFORM = "linux_x86_64"


@pytest.fixture(scope="session")
def make_elf(tmp_path_factory: pytest.TempPathFactory) -> MakeElf:
    """Compile a shared library: its soname, what it needs, its run path, its text, or a program."""
    made: dict[tuple[object, ...], bytes] = {}

    def build(
        *,
        soname: str = "",
        needed: tuple[str, ...] = (),
        runpath: str = "",
        rpath: str = "",
        source: str = "int answer(void) { return 42; }",
        program: bool = False,
    ) -> bytes:
        key = (soname, needed, runpath, rpath, source, program)
        if key not in made:
            made[key] = _compile(tmp_path_factory.mktemp("elf"), *key)
        return made[key]

    return build


def _compile(
    folder: Path, soname: str, needed: tuple[str, ...], runpath: str, rpath: str, source: str, program: bool
) -> bytes:
    flags = [] if program else ["-shared", "-fPIC"]
    for name in needed:
        stub = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", name, f"-Wl,-soname,{name}"]
        subprocess.run(stub, input=b"", check=True, cwd=folder)
        flags.append(f"-Wl,--no-as-needed,{folder / name}")
    flags += [f"-Wl,-soname,{soname}"] if soname else []
    flags += [f"-Wl,--enable-new-dtags,-rpath,{runpath}"] if runpath else []
    flags += [f"-Wl,--disable-new-dtags,-rpath,{rpath}"] if rpath else []
    text = "int main(void) { return 0; }" if program else source
    command = ["gcc", "-x", "c", "-", "-x", "none", *flags, "-o", "out.bin"]
    subprocess.run(command, input=text.encode(), check=True, cwd=folder)
    return (folder / "out.bin").read_bytes()


@pytest.fixture
def make_wheel(tmp_path: Path) -> MakeWheel:
    """Write a wheel whose WHEEL, METADATA and RECORD are right unless a case says otherwise."""

    def build(
        members: Mapping[str, bytes],
        *,
        name: str = "torch",
        version: str = "2.6.0",
        tag: str = f"cp313-cp313-{_MACHINE_PLATFORM}",
        requires: tuple[str, ...] = ("filelock", "sympy==1.13.1"),
        replace: Mapping[str, bytes | None] | None = None,
    ) -> Path:
        info = f"{name}-{version}.dist-info"
        lines = [f"Requires-Dist: {line}" for line in requires]
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines]
        whole = dict(members)
        whole[f"{info}/METADATA"] = "\n".join([*head, "", "A text."]).encode()
        whole[f"{info}/WHEEL"] = (
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
        )
        whole[f"{info}/RECORD"] = record_of(whole, f"{info}/RECORD")
        for path, content in (replace or {}).items():
            whole[f"{info}/{path.removeprefix('@')}" if path.startswith("@") else path] = content or b""
        wheel = tmp_path / f"{name}-{version}-{tag}.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in whole.items():
                archive.writestr(path, content)
        return wheel

    return build


def record_of(members: Mapping[str, bytes], own: str) -> bytes:
    """RECORD as the specification wants it."""
    lines = []
    for path, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()


@pytest.fixture
def expected() -> ExpectedWheel:
    """What the wheels of `make_wheel` are asked to be."""
    return ExpectedWheel(
        distribution="torch",
        version="2.6.0",
        python_tag="cp313",
        machine="x86_64",
        glibc="2.41",
        requires_dist=("filelock", "sympy==1.13.1"),
        forbidden_paths=("/torchbuild",),
    )


@pytest.fixture
def good_members(make_elf: MakeElf) -> dict[str, bytes]:
    """A package as upstream lays it: an extension that finds its library in ``lib`` beside it."""
    extension = make_elf(needed=("libtorch_python.so",), runpath="$ORIGIN:$ORIGIN/lib")
    python = make_elf(
        soname="libtorch_python.so", needed=("libtorch.so",), runpath="$ORIGIN", source="int p;"
    )
    core = make_elf(soname="libtorch.so", runpath="$ORIGIN", source="int q;")
    return {
        "torch/__init__.py": b"from torch import _C\n",
        "torch/_C.cpython-313-x86_64-linux-gnu.so": extension,
        "torch/lib/libtorch_python.so": python,
        "torch/lib/libtorch.so": core,
    }
