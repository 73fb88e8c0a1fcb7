"""The checks as one file that any interpreter runs: ``python -I FILE --package torch``."""

from __future__ import annotations

import errno
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from torchbuild.errors import HostError

__all__ = ["bundle"]

_PACKAGE = "torchbuild_smoke"
_MAIN = f"import sys\n\nfrom {_PACKAGE}.__main__ import main\n\nsys.exit(main())\n"
_LEFT_OUT = {"bundle.py"}
_EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(destination: Path) -> Path:
    """Write the checks to `destination` as an executable zip archive, the same bytes every time.

    The standard library's zipapp would do but for its order and its dates, which are the file system's.

    Args:
        destination: the file to write; usually ends in ``.pyz``.

    Returns:
        `destination`.

    Raises:
        HostError: ``disk-full`` or ``not-writable``.
    """
    try:
        with zipfile.ZipFile(destination, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(_files()):
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise _host_error(error, destination) from error
    return destination


def _files() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    yield from _modules(resources.files(__package__ or "torchbuild.smoke"), _PACKAGE)


def _modules(folder: Traversable, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _modules(entry, f"{place}/{entry.name}")
        elif entry.name.endswith(".py") and entry.name not in _LEFT_OUT:
            yield f"{place}/{entry.name}", entry.read_bytes()


def _host_error(error: OSError, destination: Path) -> HostError:
    why = (f"seen: {error.strerror}", f"wanted: a file at {destination}")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return HostError(
            "disk-full", f"{destination} cannot be written", why=why, fix="Free space in its directory."
        )
    return HostError(
        "not-writable", f"{destination} cannot be written", why=why, fix="Make its directory writable."
    )
