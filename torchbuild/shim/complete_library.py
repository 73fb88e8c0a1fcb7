"""Gives a library of ours what its publisher leaves to an installer. Run in the builder, isolated.

``python -I complete_library.py REQUEST.json``; the request holds

- ``prefix``: the part's,
- ``folders``: below it, where ``libNAME.so -> libNAME.so.N`` is made for each library that lacks it,
- ``programs``: folders below it whose programs are made executable,
- ``lib64``: whether ``lib64 -> lib`` is made where only ``lib`` is there.

The same request twice changes nothing the second time.
"""

import json
import os
import re
import stat
import sys
from typing import Any, Dict, Iterable, List

__all__ = ["complete", "main"]

_VERSIONED = re.compile(r"(?P<link>lib.+?\.so)(?:\.[0-9]+)+")
_STARTS = (b"#!", b"\x7fE")
_X = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def main(argv: List[str]) -> int:
    """Print what was made; 0 even where something could not be: the judge judges what is there."""
    try:
        with open(argv[0], "r", encoding="utf-8") as handle:
            done = complete(json.load(handle))
    except (OSError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        done = {"errors": ["%s: %s" % (type(error).__name__, error)]}
    print(json.dumps(done, sort_keys=True))
    return 0


def complete(request: Dict[str, Any]) -> Dict[str, List[str]]:
    """What was made, below the prefix, and what could not be."""
    prefix = str(request["prefix"])
    done = {"links": [], "programs": [], "errors": []}  # type: Dict[str, List[str]]
    for folder in _names(request, "folders"):
        _links(prefix, folder, done)
    for folder in _names(request, "programs"):
        _programs(prefix, folder, done)
    if request.get("lib64") and os.path.isdir(os.path.join(prefix, "lib")):
        _link(prefix, "lib64", "lib", done)
    return done


def _names(request: Dict[str, Any], key: str) -> List[str]:
    """Folders that stay below the prefix."""
    names = [os.path.normpath(str(name)) for name in request.get(key) or ()]
    return [name for name in names if not name.startswith(("/", "..")) and "\0" not in name]


def _listed(path: str) -> List[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def _links(prefix: str, folder: str, done: Dict[str, List[str]]) -> None:
    for link, target in sorted(_shortest(_listed(os.path.join(prefix, folder))).items()):
        _link(prefix, os.path.join(folder, link), target, done)


def _shortest(names: Iterable[str]) -> Dict[str, str]:
    """For each unversioned name the shortest of its versioned ones, which is the soname's as a rule."""
    found = {}  # type: Dict[str, str]
    for name in names:
        match = _VERSIONED.fullmatch(name)
        if match is not None:
            link = match.group("link")
            found[link] = min(found.get(link, name), name, key=lambda item: (len(item), item))
    return found


def _link(prefix: str, path: str, target: str, done: Dict[str, List[str]]) -> None:
    """What is there under this name stays, whatever it is."""
    whole = os.path.join(prefix, path)
    if os.path.lexists(whole):
        return
    try:
        os.symlink(target, whole)
    except OSError as error:
        done["errors"].append("%s: %s" % (path, error))
    else:
        done["links"].append(path)


def _programs(prefix: str, folder: str, done: Dict[str, List[str]]) -> None:
    for name in _listed(os.path.join(prefix, folder)):
        path = os.path.join(folder, name)
        whole = os.path.join(prefix, path)
        try:
            if os.path.islink(whole) or not os.path.isfile(whole) or not _is_program(whole):
                continue
            mode = os.stat(whole).st_mode
            if mode & _X != _X:
                os.chmod(whole, stat.S_IMODE(mode) | _X)
                done["programs"].append(path)
        except OSError as error:
            done["errors"].append("%s: %s" % (path, error))


def _is_program(path: str) -> bool:
    with open(path, "rb") as handle:
        return handle.read(2) in _STARTS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
