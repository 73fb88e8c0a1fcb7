"""This machine's own CPython, packed as managed interpreters are: one top, and the builder's paths inside."""

from __future__ import annotations

import functools
import http.server
import json
import os
import pprint
import shutil
import sys
import sysconfig
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from torchbuild.toolchains.python_standalone import build_time_vars

__all__ = ["BUILT_AT", "MAJOR_MINOR", "VERSION", "laid", "listing", "packed", "served"]

BUILT_AT = "/install"
VERSION = ".".join(str(part) for part in sys.version_info[:3])
MAJOR_MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
NAME = f"python{MAJOR_MINOR}"
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "*.a")
_PLANTED = {
    "AR": "/tools/llvm/bin/llvm-ar",
    "BINDIR": f"{BUILT_AT}/bin",
    "CC": "clang-of-the-builder -pthread",
    "CXX": "clang-of-the-builder++ -pthread",
    "INCLUDEPY": f"{BUILT_AT}/include/{NAME}",
    "LDSHARED": f"clang-of-the-builder -pthread -shared -L{BUILT_AT}/lib -L/tools/deps/lib",
    "LIBDIR": f"{BUILT_AT}/lib",
    "exec_prefix": BUILT_AT,
    "prefix": BUILT_AT,
}
_APPENDED = {
    "CFLAGS": " -I/tools/deps/include -fdebug-default-version=4 -isystem /tools/include",
    "LDFLAGS": f" -L{BUILT_AT}/lib -L/tools/deps/lib",
}


def laid(place: Path) -> Path:
    """Copy the interpreter of these tests to a directory that will be its prefix, its builder's paths in it."""
    program, library = Path(os.path.realpath(sys._base_executable)), Path(sysconfig.get_path("stdlib"))  # type: ignore[attr-defined]
    include = Path(sysconfig.get_path("include"))
    if not (include / "patchlevel.h").is_file():
        pytest.skip("this machine's Python has no headers")
    ignored = shutil.ignore_patterns(*_LEFT_OUT, "__pycache__", "site-packages", "dist-packages")
    shutil.copytree(library, place / "lib" / NAME, ignore=ignored, symlinks=True)
    shutil.copytree(include, place / "include" / NAME, symlinks=True)
    (place / "bin").mkdir()
    shutil.copy2(program, place / "bin" / NAME)
    (place / "bin" / "python3").symlink_to(NAME)
    shared = Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("INSTSONAME")))
    is_shared = bool(sysconfig.get_config_var("Py_ENABLE_SHARED")) and shared.is_file()
    if is_shared:
        shutil.copy2(shared, place / "lib" / shared.name)
    _plant(place, shared=is_shared)
    return place


def _plant(place: Path, *, shared: bool) -> None:
    (table,) = (place / "lib" / NAME).glob("_sysconfigdata_*.py")
    values: dict[str, Any] = build_time_vars(table.read_text(encoding="utf-8"))
    own = str(values["prefix"])
    moved = {
        key: value.replace(f"{own}/", f"{BUILT_AT}/") if isinstance(value, str) and own != "/usr" else value
        for key, value in values.items()
    }
    moved |= _PLANTED | {"Py_ENABLE_SHARED": int(shared)}
    moved |= {key: f"{moved[key]}{more}" for key, more in _APPENDED.items()}
    table.unlink()  # it may be a link, or shared with this machine's own
    table.write_text(f"build_time_vars = {pprint.pformat(moved)}\n", encoding="utf-8")
    pkgconfig = place / "lib" / "pkgconfig"
    pkgconfig.mkdir(exist_ok=True)
    text = f"prefix={BUILT_AT}\nlibdir=${{prefix}}/lib\nCflags: -I{BUILT_AT}/include/{NAME}\n"
    (pkgconfig / f"python-{MAJOR_MINOR}.pc").write_text(text, encoding="utf-8")
    config = place / "bin" / f"{NAME}-config"
    config.write_text(f"#!{BUILT_AT}/bin/{NAME}\nprint('-L{BUILT_AT}/lib')\n", encoding="utf-8")
    config.chmod(0o755)


@functools.cache
def _archive(folder: Path) -> bytes:
    laid(folder / "python")
    file = folder / "archive.tar.gz"
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        archive.add(folder / "python", "python")
    shutil.rmtree(folder / "python")
    return file.read_bytes()


def packed(folder: Path, build: str = "20250115") -> str:
    """Write ``BUILD/FILE`` below a folder, as a mirror has it; the path as addresses name it."""
    content = _archive(Path(folder, "made")) if not _made else _made[0]
    _made[:] = [content]
    file = f"cpython-{VERSION}+{build}-x86_64-unknown-linux-gnu-install_only_stripped.tar.gz"
    (folder / build).mkdir(parents=True, exist_ok=True)
    (folder / build / file).write_bytes(content)
    return f"{build}/{file.replace('+', '%2B')}"


_made: list[bytes] = []
"""The archive, once it is made: that takes seconds."""


def listing(path: str, version: str = VERSION, **changed: str) -> str:
    """A list such as uv's, with the one archive."""
    row = {
        "key": f"cpython-{version}-linux-x86_64-gnu",
        "version": version,
        "url": f"https://example.org/python-build-standalone/releases/download/{path}",
        "os": "linux",
        "arch": "x86_64",
        "libc": "gnu",
        "variant": "default",
        "implementation": "cpython",
    }
    return json.dumps([row | changed])


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A mirror on this machine; its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
