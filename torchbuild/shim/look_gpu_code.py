"""What cuobjdump lists of files, as JSON on stdout. Run isolated inside the builder.

``python -I look_gpu_code.py REQUEST.json``, with ``{"cuobjdump": PROGRAM, "files": [PATH, ...]}`` in it;
without the program the one on PATH is taken. By path it answers ``{"members": {NAME: {"sm_90": 2}}}``,
with an empty name where the file is no static library, or ``{"not_run": REASON}``.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import IO, Any, Dict, List

__all__ = ["listed", "look", "main"]

_TIMEOUT_S = 900
_LONGEST = 256 << 20
_MEMBER = re.compile(r"member (?P<path>.*)")
_ENTRY = re.compile(r"(?P<kind>ELF|PTX) file +[0-9]+: .*?\.?sm_(?P<arch>[0-9]+[a-z]?)\.(?:cubin|ptx)")
_NOTHING = "does not contain device code"


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where nothing could be listed: the check judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    program = str(request.get("cuobjdump") or shutil.which("cuobjdump") or "")
    json.dump({path: look(program, path) for path in request["files"]}, sys.stdout, sort_keys=True)
    print()
    return 0


def look(program: str, path: str) -> Dict[str, Any]:
    """One file: what is in each of its members, counted."""
    if not program:
        return {"not_run": "there is no cuobjdump"}
    environ = dict(os.environ, LC_ALL="C")
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(
                [program, "--list-elf", "--list-ptx", path],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT_S,
                check=False,
                env=environ,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"not_run": str(error)[:500]}
        size = out.seek(0, os.SEEK_END)
        out.seek(0)
        head = out.read(4000).decode("utf-8", "replace")
        if done.returncode != 0 and _NOTHING not in head:
            return {"not_run": "exit code %d: %s" % (done.returncode, head.strip()[:500])}
        if size > _LONGEST:
            return {"not_run": "it said %d bytes" % size}
        out.seek(0)
        return {"members": listed(out, path)}


def listed(lines: IO[bytes], path: str) -> Dict[str, Dict[str, int]]:
    """What the lines say, member by member; members without any GPU code are left out."""
    found = {}  # type: Dict[str, Dict[str, int]]
    member = ""
    whole = os.path.abspath(path) + ":"
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        heading = _MEMBER.fullmatch(line.rstrip(":"))
        if heading:
            member = heading.group("path")
            member = member[len(whole) :] if member.startswith(whole) else member
        entry = _ENTRY.fullmatch(line.strip())
        if entry:
            name = ("sm_" if entry.group("kind") == "ELF" else "compute_") + entry.group("arch")
            kinds = found.setdefault(member, {})
            kinds[name] = kinds.get(name, 0) + 1
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
