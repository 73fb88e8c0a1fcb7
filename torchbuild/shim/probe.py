"""What the build environment really is, as JSON on stdout. Run by the venv's interpreter, isolated.

``python -I probe.py CC CXX CMAKE NINJA SCRATCH [SHIM [CACHE]]``. With SHIM, what stands before compilers and
make is laid there; CACHE is a compiler cache, which is asked for its version.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, List, Tuple

__all__ = ["equip", "main", "observe"]

_PROGRAMS = {
    "c": """#include <stdlib.h>
int main(void) { char *p = malloc(2); int bad = p == NULL; free(p); return bad; }
""",
    "cpp": """#include <cmath>
#include <vector>
int main() { std::vector<double> v(3, 2.0); return std::sqrt(v[0]) > 1 ? 0 : 1; }
""",
}
_BEHIND = ("cc1", "cc1plus", "as", "ld", "collect2", "lto1")
"""What a driver such as gcc starts: there the work is done."""
_BESIDE = ("libc.so.6", "libstdc++.so.6", "libgcc.a")
"""What comes with a release of the C library, and of the compiler's own: headers change with them."""


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where things are missing: the stage judges."""
    seen = observe(*argv[:5])
    if argv[5:]:
        seen["launcher"] = equip(argv[0], argv[5])
    if argv[6:]:
        seen["cache"] = _first_line([argv[6], "--version"])
    json.dump(seen, sys.stdout, indent=1, sort_keys=True)
    return 0


def observe(cc: str, cxx: str, cmake: str, ninja: str, scratch: str) -> Dict[str, Any]:
    """Interpreter, installed distributions, compilers and programs."""
    include = sysconfig.get_paths()["include"]
    return {
        "executable": sys.executable,
        "base_executable": os.path.realpath(sys.executable),
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "python_h": os.path.isfile(os.path.join(include, "Python.h")),
        "include": include,
        "distributions": _distributions(),
        "cc": _first_line([cc, "--version"]),
        "cxx": _first_line([cxx, "--version"]),
        "cmake": _first_line([cmake, "--version"]),
        "ninja": _first_line([ninja, "--version"]),
        "compiles": _compiles(cc, "c", scratch) or _compiles(cxx, "cpp", scratch),
        "files": sorted({*_interpreter_files(), *_compiler_files(cc), *_compiler_files(cxx)}),
    }


def equip(cc: str, shim: str) -> str:
    """Lay what stands in front of compilers and make; nothing, or why the launcher asks nobody."""
    sys.path.insert(0, shim)
    equipment = importlib.import_module("torchbuild_shim.equipment")
    equipment.lay_makes(os.path.dirname(sys.executable), shim)
    source = os.path.join(shim, "torchbuild_shim", "launch.c")
    return str(equipment.lay_launcher(cc, source, os.path.join(shim, "launch")))


def _distributions() -> Dict[str, str]:
    from importlib.metadata import distributions

    return {_canonical(str(item.metadata["Name"])): item.version for item in distributions()}


def _canonical(name: str) -> str:
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _interpreter_files() -> List[str]:
    """The interpreter behind the venv, and its library where it has one."""
    files = [os.path.realpath(sys.executable)]
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        names = [str(sysconfig.get_config_var(name) or "") for name in ("LIBDIR", "INSTSONAME")]
        files.append(os.path.join(*names))
    return [path for path in files if os.path.isfile(path)]


def _compiler_files(driver: str) -> List[str]:
    """The driver as it is called, what it starts and what lies beside it, where it knows of them."""
    said = [_first_line([driver, "-print-prog-name=" + name]) for name in _BEHIND]
    found = [driver, *(shutil.which(name) or "" for name in said if name)]
    found += [_first_line([driver, "-print-file-name=" + name]) for name in _BESIDE]
    return [os.path.abspath(path) for path in found if os.path.isfile(path)]


def _run(argv: List[str]) -> Tuple[int, str]:
    try:
        done = subprocess.run(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _first_line(argv: List[str]) -> str:
    code, text = _run(argv)
    lines = text.splitlines()
    return lines[0].strip() if code == 0 and lines else ""


def _compiles(compiler: str, language: str, scratch: str) -> str:
    """Empty if a small program compiles, links and starts; else the first thing that was said."""
    os.makedirs(scratch, exist_ok=True)
    program = os.path.join(scratch, "probe-" + language)  # one each: the other compiler's proves nothing
    source = program + "." + language
    with open(source, "w", encoding="utf-8") as handle:
        handle.write(_PROGRAMS[language])
    for argv in ([compiler, "-O1", "-o", program, source], [program]):
        code, text = _run(argv)
        if code != 0:
            return "%s: exit code %d: %s" % (os.path.basename(argv[0]), code, text.strip()[:500])
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
