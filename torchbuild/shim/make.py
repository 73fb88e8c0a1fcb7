"""The make that a build finds: below our ninja it shares ninja's tokens, whatever ``-j`` it is called with.

A ``-j`` or ``-l`` of its own would make it start a jobserver of its own. What makes before 4.4 get is opened
anew here: what stands between ninja and us may have closed what ninja inherited. Others get the pipe's name.
"""

import os
import re
import subprocess
import sys
from typing import List, Optional, Tuple

from .jobserver import MAKE, without_jobs

__all__ = ["main"]

_FIFO = re.compile(r"--jobserver-auth=fifo:(\S+)")
_INHERITED = re.compile(r" --jobserver-f=\S+")
_KNOWN = "TORCHBUILD_MAKE"
"""Keeps the version that was seen, for makes that makes start."""
_WITH_FIFO, _WITH_AUTH = (4, 4), (4, 2)


def main(argv: Optional[List[str]] = None) -> int:
    """Be make; returns only where there is none."""
    called, *arguments = sys.argv if argv is None else argv
    real = _real(os.path.basename(called))
    if real is None:
        sys.stderr.write("torchbuild: %s: not found in PATH\n" % os.path.basename(called))
        return 127
    flags = os.environ.get("MAKEFLAGS", "")
    if "--jobserver-" in flags:
        arguments, _ = without_jobs(arguments, MAKE)
    fifo = _FIFO.search(flags)
    if fifo is not None:
        version = _version(real)
        os.environ[_KNOWN] = "%d.%d" % version
        os.environ["MAKEFLAGS"] = _INHERITED.sub("", flags)
        if version < _WITH_FIFO:
            file = os.open(fifo.group(1), os.O_RDWR)
            os.set_inheritable(file, True)
            option = "auth" if version >= _WITH_AUTH else "fds"
            os.environ["MAKEFLAGS"] = " -j --jobserver-%s=%d,%d" % (option, file, file)
    return os.execv(real, [called, *arguments])


def _real(name: str) -> Optional[str]:
    """The first on PATH that is not beside us."""
    own = os.path.realpath(os.path.dirname(sys.argv[0]))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.realpath(folder) != own and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _version(real: str) -> Tuple[int, int]:
    """Of GNU make; what does not say is taken for an old one."""
    text = os.environ.get(_KNOWN, "")
    if not text:
        environ = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
        done = subprocess.run([real, "--version"], stdout=subprocess.PIPE, env=environ, check=False)
        text = done.stdout.decode("utf-8", "replace")
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)
