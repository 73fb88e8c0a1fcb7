"""What stands before programs of the build: a launcher before each compiler, and our make before make."""

import os
import shutil
import subprocess
import sys
from typing import List

__all__ = ["lay_launcher", "lay_makes"]

_WAYS = (("-O2", "-static", "-s"), ("-O2",), ())
"""A static program starts fastest, but not every builder can link one."""
_PLAIN = '#!/bin/sh\nexec "$@"\n'
"""Where nothing can be compiled: nothing is asked, and the compiler runs."""
_MAKE = """#!%s -IS
import sys

sys.path.insert(0, %r)
from torchbuild_shim.make import main

sys.exit(main())
"""


def lay_launcher(cc: str, source: str, place: str) -> str:
    """Compile the launcher; nothing, or why a script stands there that asks nobody.

    Args:
        cc: the build's own C compiler.
        source: ``launch.c``.
        place: the program.
    """
    why = ""
    for options in _WAYS:
        why = _tried([cc, *options, "-o", place + ".tmp", source]) or _tried(
            [place + ".tmp", sys.executable, "-V"]
        )
        if not why:
            os.replace(place + ".tmp", place)
            return ""
    _write(place, _PLAIN)
    return why


def lay_makes(folder: str, shim: str) -> List[str]:
    """A make of ours for each that is there; their names.

    Args:
        folder: the first on PATH.
        shim: what holds ``torchbuild_shim``.
    """
    others = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part != folder]
    names = [name for name in ("make", "gmake") if shutil.which(name, path=os.pathsep.join(others))]
    for name in names:
        _write(os.path.join(folder, name), _MAKE % (sys.executable, shim))
    return names


def _tried(argv: List[str]) -> str:
    """What it said where it did not end well."""
    try:
        done = subprocess.run(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stdout.decode("utf-8", "replace").strip()[:500]
    return "exit code %d: %s" % (done.returncode, said) if done.returncode else ""


def _write(path: str, text: str) -> None:
    with open(path + ".tmp", "w", encoding="utf-8") as handle:
        handle.write(text)
    os.chmod(path + ".tmp", 0o755)  # noqa: S103  as programs are
    os.replace(path + ".tmp", path)
