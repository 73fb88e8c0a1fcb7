"""What an interpreter is to those who build for it, as JSON on stdout. Run by the interpreter, isolated.

``python -I look_python.py REQUEST.json`` with ``executable``, ``cc`` and ``scratch``. What the build's own
environment is (its packages, its compilers) is `probe`'s; this looks at the interpreter behind it.
"""

import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import sysconfig
from typing import Any, Dict, List

__all__ = ["look", "main"]

_SEARCHED = (
    "CFLAGS",
    "CPPFLAGS",
    "PY_CFLAGS",
    "PY_CPPFLAGS",
    "LDFLAGS",
    "PY_LDFLAGS",
    "LDSHARED",
    "LDCXXSHARED",
)
"""Variables that the build of an extension module takes over."""
_JOINED = ("-I", "-L", "-isystem", "-iquote", "-B", "--sysroot=", "-Wl,-rpath,")
_SPLIT = ("-I", "-L", "-isystem", "-iquote", "-B", "-isysroot", "--sysroot")
_COMMANDS = ("CC", "CXX", "AR", "LDSHARED")
_MOST_SAID = 1000
_TIMEOUT_S = 120
_MODULE = """#include <Python.h>
static struct PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "tb_extension", NULL, 0, NULL, slots, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_tb_extension(void) { return PyModuleDef_Init(&module); }
"""
_IMPORT = "import sys; sys.path.insert(0, sys.argv[1]); import tb_extension"


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where things are missing: the stage judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    sys.stdout.write(json.dumps(look(**request), sort_keys=True) + "\n")
    return 0


def look(executable: str, cc: str, scratch: str) -> Dict[str, Any]:
    """The interpreter, its configuration, and an extension module that was compiled for it."""
    behind = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    include = sysconfig.get_paths()["include"]
    return {
        "executable": behind,
        "kind": _kind(executable),
        "is_venv": sys.prefix != sys.base_prefix,
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "soabi": _text("SOABI"),
        "machine": platform.machine(),
        "bits": 8 * struct.calcsize("P"),
        "free_threaded": "yes" if sysconfig.get_config_var("Py_GIL_DISABLED") else "no",
        "include": include,
        "headers": os.path.isfile(os.path.join(include, "Python.h")),
        "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")),
        "libdir": _text("LIBDIR"),
        "libdir_found": os.path.isdir(_text("LIBDIR")),
        "library": os.path.join(_text("LIBDIR"), _text("INSTSONAME") or _text("LDLIBRARY")),
        "library_found": os.path.isfile(
            os.path.join(_text("LIBDIR"), _text("INSTSONAME") or _text("LDLIBRARY"))
        ),
        "gone": {name: gone for name, gone in ((name, _gone(_text(name))) for name in _SEARCHED) if gone},
        "tools_missing": _missing_tools(),
        "extension": _extension(cc, include, scratch),
    }


def _text(name: str) -> str:
    return str(sysconfig.get_config_var(name) or "")


def _kind(path: str) -> str:
    """``program``; ``script`` for what starts another; empty where it cannot be read."""
    try:
        with open(path, "rb") as handle:
            begin = handle.read(4)
    except OSError:
        return ""
    return "program" if begin == b"\x7fELF" else "script" if begin[:2] == b"#!" else "other"


def _gone(value: str) -> List[str]:
    """The words of a variable whose absolute directory does not exist."""
    words, found = value.split(), []  # type: List[str], List[str]
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if word in _SPLIT:
            if _is_gone(following):
                found.append(word + " " + following)
        elif any(word.startswith(option) and _is_gone(word[len(option) :]) for option in _JOINED):
            found.append(word)
    return sorted(set(found))


def _is_gone(directory: str) -> bool:
    return directory.startswith("/") and not os.path.isdir(directory)


def _missing_tools() -> Dict[str, str]:
    first = {name: (_text(name).split() or [""])[0] for name in _COMMANDS}
    return {name: tool for name, tool in first.items() if tool and not shutil.which(tool)}


def _extension(cc: str, include: str, scratch: str) -> str:
    """Empty if a module is compiled with the interpreter's own options and imported; else what was said."""
    source = os.path.join(scratch, "tb_extension.c")
    # a name that is only this interpreter's: another one would not find it
    module = os.path.join(scratch, "tb_extension" + (_text("EXT_SUFFIX") or ".so"))
    try:
        os.makedirs(scratch, exist_ok=True)
        with open(source, "w", encoding="utf-8") as handle:
            handle.write(_MODULE)
    except OSError as error:
        return str(error)[:_MOST_SAID]
    flags = _text("CFLAGS").split() + _text("CCSHARED").split()
    link = _text("LDFLAGS").split()
    for argv in (
        [cc, *flags, "-fPIC", "-shared", "-I" + include, source, "-o", module, *link],
        [sys.executable, "-I", "-c", _IMPORT, scratch],
    ):
        said = _failed(argv)
        if said:
            return said
    return ""


def _failed(argv: List[str]) -> str:
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:_MOST_SAID]
    said = done.stdout.decode("utf-8", "replace").strip()[-_MOST_SAID:]
    return "" if done.returncode == 0 else "%s: exit code %d: %s" % (argv[0], done.returncode, said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
