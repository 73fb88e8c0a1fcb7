"""What an interpreter is to a build, in one short start, as JSON. Run by that interpreter, isolated.

``python -I look_interpreter.py``. What needs a compiler or a minute is `look_python`'s.
"""

import json
import os
import platform
import sys
import sysconfig
from typing import Any, Dict, List

__all__ = ["look", "main"]

_PLACES = ("LIBDIR",)
_NCCL = "nvidia_nccl_"


def main() -> int:
    """Print what it is."""
    sys.stdout.write(json.dumps(look(), sort_keys=True) + "\n")
    return 0


def look() -> Dict[str, Any]:
    """The interpreter, its headers, and the packages in it that decide something."""
    include = sysconfig.get_paths()["include"]
    installed = _installed()
    return {
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "is_venv": sys.prefix != sys.base_prefix,
        "base": os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable),
        "include": include if os.path.isfile(os.path.join(include, "Python.h")) else "",
        "numpy": installed.get("numpy", ""),
        "machine": platform.machine(),
        "is_free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "is_shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")),
        "nccls": [
            "%s %s" % (name.replace("_", "-"), version)
            for name, version in sorted(installed.items())
            if name.startswith(_NCCL)
        ],
        "gone": _gone(),
    }


def _installed() -> Dict[str, str]:
    """Versions by the records of the installer: importing a package takes a second, and may fail."""
    found = {}  # type: Dict[str, str]
    for folder in reversed(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                package, _, version = name.rpartition(".")[0].partition("-")
                found[package.lower()] = version.partition("-")[0]
    return found


def _gone() -> List[str]:
    """Directories of its own configuration that are not there: those of the machine that it was made on."""
    places = [str(sysconfig.get_config_var(name) or "") for name in _PLACES]
    return sorted({place for place in places if place.startswith("/") and not os.path.isdir(place)})


if __name__ == "__main__":
    sys.exit(main())
