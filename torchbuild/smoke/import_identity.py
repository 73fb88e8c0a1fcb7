"""What was imported is what was installed: its place, its version, and every library it mapped."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from typing import Any

from .verdict import Finding, failed, passed, skipped

__all__ = ["NAME", "NEEDS", "run"]

NAME = "import_identity"
NEEDS: tuple[str, ...] = ()

_PLACE, _VERSION, _COMMIT, _LIBRARIES = (
    "smoke-import-identity",
    "smoke-version",
    "smoke-git-version",
    "smoke-libraries",
)
_SHARED = re.compile(r"\.so(\.\d+)*$")


def run(subject: Any) -> list[Finding]:
    """Four findings: place, version, commit, libraries."""
    return [_place(subject), _version(subject), _commit(subject), _libraries(subject)]


def _place(subject: Any) -> Finding:
    """Installed packages lie in site-packages; a source tree, or an editable install of one, does not."""
    file = os.path.realpath(getattr(subject, "__file__", None) or "")
    homes = sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("platlib", "purelib")})
    wanted = "inside {}".format(" or ".join(homes))
    inside = any(file.startswith(home + os.sep) for home in homes)
    return (passed if inside else failed)(_PLACE, "where the module lies", file, wanted)


def _version(subject: Any) -> Finding:
    """The module and the installed metadata name the same version."""
    from importlib import metadata

    seen = str(getattr(subject, "__version__", ""))
    try:
        wanted = metadata.version(subject.__name__)
    except metadata.PackageNotFoundError:
        return skipped(_VERSION, "no distribution of that name is installed; the module says " + seen)
    same = _normal(seen) == _normal(wanted)
    return (passed if same else failed)(_VERSION, "version of the module and of its metadata", seen, wanted)


def _normal(version: str) -> str:
    return re.sub(r"[-_.]+", ".", version.lower())


def _commit(subject: Any) -> Finding:
    version = getattr(subject, "version", None)
    commit = getattr(version, "git_version", None)
    if not commit:
        return skipped(_COMMIT, "the module names no commit")
    return passed(_COMMIT, "the commit it was built from", commit)


def _libraries(subject: Any) -> Finding:
    """No library that the package ships was taken from anywhere else."""
    if not os.path.exists("/proc/self/maps"):
        return skipped(_LIBRARIES, "this system does not say what is mapped")
    home = os.path.realpath(os.path.dirname(subject.__file__))
    shipped, mapped = _shipped(home), _mapped()
    strange = sorted(
        path for path in mapped if os.path.basename(path) in shipped and not path.startswith(home + os.sep)
    )
    own = sum(path.startswith(home + os.sep) for path in mapped)
    seen = "{} mapped from the package; outside it: {}".format(own, _outside(mapped, home) or "none")
    if strange:
        return failed(_LIBRARIES, "libraries that were taken from elsewhere", " ".join(strange), home)
    return passed(_LIBRARIES, "every mapped library that the package ships is its own", seen, home)


def _shipped(home: str) -> set[str]:
    """Names of the libraries that lie in the package."""
    return {name for _, _, files in os.walk(home) for name in files if _SHARED.search(name)}


def _mapped() -> set[str]:
    """Real paths of the libraries that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        fields = (line.rstrip("\n").split(None, 5) for line in lines)
        paths = {part[5] for part in fields if len(part) > 5}  # noqa: PLR2004  the sixth field is the path
    paths = {re.sub(r" \(deleted\)$", "", path) for path in paths}
    return {os.path.realpath(path) for path in paths if path.startswith("/") and _SHARED.search(path)}


def _outside(mapped: set[str], home: str) -> str:
    """Libraries by directory that are neither the package's nor the interpreter's own extension modules."""
    own = (home + os.sep, os.path.realpath(os.path.join(sys.base_prefix, "lib", "python")))
    folders: dict[str, list[str]] = {}
    for path in sorted(mapped):
        if not path.startswith(own):
            folders.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    return "; ".join("{}: {}".format(folder, " ".join(names)) for folder, names in folders.items())
