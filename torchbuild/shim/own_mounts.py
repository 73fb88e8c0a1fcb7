"""Start a program with mounts of its own, which nobody else sees and which end with it.

``python -I own_mounts.py MOUNTS.json PROGRAM ARGUMENT...``

``MOUNTS.json`` has three keys: ``covers`` (folders, by the place that each takes), ``kept`` (folders that
stay where they are although they are below such a place) and ``binds`` (the same as covers, laid last).
"""

import ctypes
import json
import os
import sys
from typing import Any, Dict, List

__all__ = ["REFUSED", "main"]

REFUSED = 125
"""Exit code where the mounts cannot be made; the reason is on stderr."""
_NEWNS, _NEWUSER = 0x20000, 0x10000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000


def main(argv: List[str]) -> int:
    """Mount, and become the program; `REFUSED` where that cannot be."""
    with open(argv[0], encoding="utf-8") as handle:
        mounts = json.load(handle)
    try:
        _mount_all(mounts)
        os.execvp(argv[1], argv[1:])
    except OSError as error:
        sys.stderr.write("%s\n" % error)
    return REFUSED


def _mount_all(mounts: Dict[str, Any]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _leave(libc)
    _mount(libc, "none", "/", _REC | _PRIVATE)
    for target, cover in mounts["covers"].items():
        if os.path.isdir(target):
            _keep(libc, target, cover, mounts["kept"])
            _mount(libc, cover, target, _BIND | _REC)
    for target, folder in mounts["binds"].items():
        _mount(libc, folder, target, _BIND)


def _leave(libc: Any) -> None:
    """Leave the others' mounts, with root's right; without it, as the same user in a namespace of its own."""
    if libc.unshare(_NEWNS) == 0:
        return
    uid, gid = os.geteuid(), os.getegid()
    _checked(libc.unshare(_NEWNS | _NEWUSER), "unshare")
    maps = {"setgroups": "deny", "uid_map": "%d %d 1" % (uid, uid), "gid_map": "%d %d 1" % (gid, gid)}
    for name, text in maps.items():
        with open("/proc/self/" + name, "w", encoding="ascii") as handle:
            handle.write(text)


def _keep(libc: Any, target: str, cover: str, kept: List[str]) -> None:
    """Folders below a place that is going to be covered stay where they are."""
    for path in sorted({os.path.realpath(path) for path in kept}):
        if os.path.commonpath([path, target]) == target and path != target:
            inside = os.path.join(cover, os.path.relpath(path, target))
            os.makedirs(inside, exist_ok=True)
            _mount(libc, path, inside, _BIND | _REC)


def _mount(libc: Any, source: str, target: str, flags: int) -> None:
    answer = libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None)
    _checked(answer, "mount " + target)


def _checked(answer: int, step: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (step, os.strerror(number)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
