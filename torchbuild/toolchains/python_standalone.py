"""What an interpreter will be, read from its archive: nothing of it is run, and no machine need fit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from torchbuild.errors import FetchError
from torchbuild.model.lock import LockedPython
from torchbuild.model.part import LockedPart

__all__ = ["build_time_vars", "is_asked", "locked_python"]

_SYSCONFIG = re.compile(r"lib/python[0-9.]+t?/_sysconfigdata_[A-Za-z0-9_.-]*\.py")
_PATCHLEVEL = re.compile(r"include/python[0-9.]+t?/patchlevel\.h")
_PY_VERSION = re.compile(rb'^#define\s+PY_VERSION\s+"([0-9]+\.[0-9]+\.[0-9]+[a-z0-9]*)\+?"', re.MULTILINE)
_PROGRAM = re.compile(r"bin/python[0-9]+\.[0-9]+t?")
_LONGEST = 4 << 20


def is_asked(name: str) -> bool:
    """Whether a member of the archive, named without its top, is read for `locked_python`."""
    return bool(_SYSCONFIG.fullmatch(name) or _PATCHLEVEL.fullmatch(name))


def build_time_vars(text: str) -> dict[str, str | int]:
    """The variables of a ``_sysconfigdata`` module, as values: it is read as text and never run.

    Raises:
        ValueError: it is not one assignment of a literal table.
    """
    if len(text) > _LONGEST:
        raise ValueError("longer than such a module is")
    try:
        body = ast.parse(text).body
        tables = [
            ast.literal_eval(node.value)
            for node in body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "build_time_vars"
        ]
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError) as error:
        raise ValueError(f"no table of values: {type(error).__name__}") from error
    if len(tables) != 1 or not isinstance(tables[0], dict):
        raise ValueError("no single table build_time_vars")
    return {str(key): value for key, value in tables[0].items() if isinstance(value, str | int)}


def locked_python(part: LockedPart, files: Mapping[str, bytes], names: Iterable[str]) -> LockedPython:
    """The interpreter that a part of ours will be.

    Args:
        part: what `python_uv.part` made.
        files: the archive's members for which `is_asked` holds, by their names without the top.
        names: names of all its regular files, likewise.

    Raises:
        FetchError: ``python-archive-unreadable``, ``python-archive-other-version``.
    """
    tables = [text for name, text in files.items() if _SYSCONFIG.fullmatch(name)]
    levels = [text for name, text in files.items() if _PATCHLEVEL.fullmatch(name)]
    programs = sorted(name for name in names if _PROGRAM.fullmatch(name))
    if len(tables) != 1 or len(levels) != 1:
        seen = f"{len(tables)} _sysconfigdata modules and {len(levels)} patchlevel.h"
        raise _unreadable(part, seen, "one of each: an installation, with its headers")
    found = _PY_VERSION.search(levels[0])
    try:
        values = build_time_vars(tables[0].decode("utf-8"))
    except ValueError as error:
        raise _unreadable(part, f"its _sysconfigdata: {error}", "a table of values") from error
    version, soabi = found[1].decode() if found else "", str(values.get("SOABI", ""))
    name = f"{values.get('VERSION', '')}{values.get('ABIFLAGS', '')}"
    # of a free-threaded one, the file may be called as any other is
    wanted = (f"bin/python{name}", f"bin/python{name.removesuffix('t')}")
    program = next((item for item in wanted if item in programs), "")
    if not (version and soabi and program):
        seen = (
            f"version {version or 'none'}, SOABI {soabi or 'none'}, programs {', '.join(programs) or 'none'}"
        )
        raise _unreadable(part, seen, f"all of these, and {wanted[0]}")
    if version != part.version:
        raise _other_version(part, version)
    release = re.split("[a-z]", version)[0]  # as an interpreter is asked: 3.15.0 of 3.15.0rc1
    major, minor = release.split(".")[:2]
    return LockedPython(
        executable=f"{part.prefix}/{program}",
        version=release,
        soabi=soabi,
        tag=f"cp{major}{minor}",
        include=f"{part.prefix}/include/python{name}",
    )


def _unreadable(part: LockedPart, seen: str, wanted: str) -> FetchError:
    return FetchError(
        "python-archive-unreadable",
        f"{part.pieces[0].artifact.name} does not hold an interpreter as expected",
        why=(f"seen {seen}", f"wanted {wanted}"),
        fix="Name another python.version, and tell those who published the archive.",
    )


def _other_version(part: LockedPart, seen: str) -> FetchError:
    return FetchError(
        "python-archive-other-version",
        f"{part.pieces[0].artifact.name} holds another Python",
        why=(f"seen {seen}", f"wanted {part.version}"),
        fix="Correct the mirror that it came from, or name the version that it holds.",
    )
