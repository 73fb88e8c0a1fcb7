"""Whether an unpacked source of NCCL can be built where it lies. Run in the builder, isolated.

``python -I look_nccl_source.py REQUEST.json``; the request holds ``source`` and ``build``: where it is built.
"""

import json
import os
import re
import stat
import subprocess
import sys
from typing import Any, Dict, List

__all__ = ["main", "observe"]

_TIMEOUT_S = 60
_MOST_BYTES = 1 << 16
_SCRIPT = "#!/bin/sh\nexit 0\n"


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where things are missing: the judge judges."""
    try:
        with open(argv[0], "r", encoding="utf-8") as handle:
            request = json.load(handle)
        seen = observe(str(request.get("source", "")), str(request.get("build", "")))
    except (OSError, ValueError, IndexError, AttributeError) as error:
        seen = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(seen, sort_keys=True))
    return 0


def observe(source: str, build: str) -> Dict[str, Any]:
    """Scripts and whether each may be executed, places and whether a script starts there, and the version."""
    return {
        "scripts": _scripts(os.path.join(source, "src")),
        "starts": {place: _starts(place) for place in (source, build) if place},
        "version": _version(os.path.join(source, "makefiles", "version.mk")),
    }


def _scripts(top: str) -> Dict[str, bool]:
    """By path below `top`. Mode bits, not access(2): root may read what it still cannot execute."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".py", ".sh")) and _is_script(path):
                mode = os.stat(path).st_mode
                found[os.path.relpath(path, top)] = bool(mode & stat.S_IXUSR)
    return found


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as handle:
            return handle.read(2) == b"#!"
    except OSError:
        return False


def _starts(place: str) -> bool:
    """Whether the file system lets a program be started: a mount may forbid it."""
    path = os.path.join(place, ".torchbuild-starts")
    try:
        os.makedirs(place, exist_ok=True)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(_SCRIPT)
        os.chmod(path, 0o755)  # noqa: S103  a script of ours, removed below
        done = subprocess.run([path], stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        if os.path.lexists(path):
            os.remove(path)
    return done.returncode == 0


def _version(path: str) -> str:
    """``2.29.7`` out of version.mk; empty where it does not say."""
    try:
        with open(path, "r", encoding="utf-8", errors="replace") as handle:
            text = handle.read(_MOST_BYTES)
    except OSError:
        return ""
    words = []
    for name in ("MAJOR", "MINOR", "PATCH"):
        found = re.search(r"^NCCL_%s[ \t]*:?=[ \t]*([0-9]{1,9})[ \t]*$" % name, text, re.MULTILINE)
        if found is None:
            return ""
        words.append(found.group(1))
    return ".".join(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
