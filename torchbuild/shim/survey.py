"""What a builder has to offer, as JSON on stdout. Run at lock time by a candidate interpreter, isolated.

``python -I survey.py CC CXX CACHE`` with CACHE ``none`` for no compiler cache, ``auto`` for what is there.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from typing import Dict, List, Tuple

__all__ = ["main", "survey"]

_PATH = "/usr/local/bin:/usr/bin:/bin"
_CACHES: Dict[str, Tuple[str, ...]] = {"none": (), "auto": ("ccache", "sccache")}


def main(argv: List[str]) -> int:
    """Print what is there; empty text stands for what is missing."""
    # one line: an engine may have words of its own in the same log
    sys.stdout.write(json.dumps(survey(*argv), sort_keys=True) + "\n")
    return 0


def survey(cc: str, cxx: str, cache: str) -> Dict[str, str]:
    """Interpreter, C library, compilers."""
    c, compiler = _find(cc), _find(cxx)
    launcher = next(filter(None, map(_find, _CACHES.get(cache, (cache,)))), "")
    return {
        # of a virtual environment, the interpreter behind it: another file where it was made with copies
        "executable": os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable),
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "soabi": str(sysconfig.get_config_var("SOABI") or ""),
        "tag": "cp%d%d" % (sys.version_info[0], sys.version_info[1]),
        "glibc": platform.libc_ver()[1],
        "machine": platform.machine(),
        "cc": c,
        "cxx": compiler,
        "compiler": _first_line(compiler),
        "compiler_c": _first_line(c),
        "launcher": launcher,
        "launcher_version": _first_line(launcher),
        "include": sysconfig.get_paths()["include"],
        "venv": "yes" if _has_venv() else "",
        "headers": "yes"
        if os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
        else "",
    }


def _find(program: str) -> str:
    return shutil.which(program, path=_PATH) or ""


def _has_venv() -> bool:
    try:
        import venv  # noqa: F401
    except ImportError:
        return False
    return True


def _first_line(program: str) -> str:
    if not program:
        return ""
    try:
        done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
