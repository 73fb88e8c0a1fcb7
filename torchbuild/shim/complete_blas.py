"""Completes the libraries of a wheel for who links with them, as JSON on stdout.

``python -I complete_blas.py REQUEST.json``, where the request is
``{"folder": DIRECTORY, "links": [NAME], "aliases": {NAME: NAME}, "drop": [NAME]}``.

Wheels bring libNAME.so.3 alone, and a linker is told libNAME.so. Only the names that are asked for get a
link: a search that would also take another threading layer then finds none. What is dropped is gone for the
same reason.
"""

import json
import os
import re
import sys
from typing import Any, Dict, List

__all__ = ["complete", "main"]


def main(argv: List[str]) -> int:
    """Do it and print what was done; 0 even where names are missing: the stage judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    json.dump(complete(request), sys.stdout, sort_keys=True)
    return 0


def complete(request: Dict[str, Any]) -> Dict[str, Any]:
    """Links made, names dropped, and what is missing or has more than one candidate."""
    folder = request["folder"]
    seen = {"made": [], "dropped": [], "missing": []}  # type: Dict[str, List[str]]
    for name in request.get("links", []):
        _link(folder, name, _candidates(folder, name), seen)
    for name, of in sorted(request.get("aliases", {}).items()):
        _link(folder, name, [of] if os.path.isfile(os.path.join(folder, of)) else [], seen)
    for name in request.get("drop", []):
        path = os.path.join(folder, os.path.basename(name))
        if os.path.isfile(path) or os.path.islink(path):
            os.remove(path)
            seen["dropped"].append(name)
    return dict(seen)


def _candidates(folder: str, name: str) -> List[str]:
    """Files that are called as this, with a version behind."""
    versioned = re.compile(re.escape(name) + r"(\.[0-9]+)+")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = [item for item in names if versioned.fullmatch(item)]
    return [item for item in found if os.path.isfile(os.path.join(folder, item))]


def _link(folder: str, name: str, candidates: List[str], seen: Dict[str, List[str]]) -> None:
    """A link beside the file; one that is there already is left, so that this can be done again."""
    path = os.path.join(folder, os.path.basename(name))
    if os.path.isfile(path):
        return
    if len(candidates) != 1:
        found = " and ".join(candidates) or "nothing"
        seen["missing"].append("%s: seen %s, wanted one file" % (name, found))
        return
    if os.path.islink(path):
        os.remove(path)  # it leads nowhere
    os.symlink(candidates[0], path)
    seen["made"].append("%s -> %s" % (name, candidates[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
