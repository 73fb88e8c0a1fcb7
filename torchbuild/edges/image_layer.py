"""A root as the one layer of an image: sorted, with owners as numbers and times that nothing exceeds.

The same root gives the same bytes, whichever tar packed it before.
"""

from __future__ import annotations

import contextlib
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import RawIOBase
    from typing import BinaryIO

__all__ = ["STATUS", "member_text", "write_layer"]

STATUS = "var/lib/dpkg/status"
"""Where a root says which packages it holds."""

_ENGINES_OWN = ("dev/", "proc/", "sys/", "run/")
"""What every engine mounts over; an ordinary user could not unpack the devices."""

_KEPT = "SCHILY.xattr.security.capability"
"""The one extended attribute that packages set."""


def write_layer(root: Path, target: BinaryIO | RawIOBase, epoch: int) -> None:
    """Pack the members of the tar `root` anew into `target`.

    Args:
        root: an uncompressed tar of a root.
        target: gets an uncompressed tar, from where it stands.
        epoch: no member is newer; seconds since 1970.

    Raises:
        HostError: ``root-unreadable``; as `torchbuild.edges.atomic.translated` says.
    """
    with _opened(root) as source, translated(root):
        members = {_inner(item.name): item for item in source if _wanted(_inner(item.name))}
        heads = _heads(members)
        with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as layer:
            for name in sorted(members):
                item = members[name]
                head = heads.get(_target(item, name), name)
                if item.isreg() or item.islnk():
                    item = members[_target(item, name)]  # of several names one has the bytes
                entry = _entry(item, name, epoch)
                if head != name:
                    entry.type, entry.linkname, entry.size = tarfile.LNKTYPE, head, 0
                layer.addfile(entry, source.extractfile(item) if entry.isreg() else None)


def member_text(root: Path, name: str) -> str:
    """One file of the tar `root` as text, by its path without a slash before it; empty where it has none.

    Raises:
        HostError: as `write_layer`.
    """
    with _opened(root) as source, translated(root):
        for item in source:
            if _inner(item.name) == name and (file := source.extractfile(item)) is not None:
                return file.read().decode(errors="replace")
    return ""


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(root, "r:") as source:
            yield source
    except (tarfile.TarError, KeyError) as error:
        raise HostError(
            "root-unreadable",
            f"{root.name}: the root that was made cannot be read",
            why=(f"seen: {error}", "wanted: an uncompressed tar"),
            fix="Run the same command again; if it comes back, check the disk and the version of mmdebstrap.",
        ) from error


def _inner(name: str) -> str:
    return name.removeprefix("./").strip("/")


def _wanted(name: str) -> bool:
    return name not in ("", ".") and not name.startswith(_ENGINES_OWN)


def _target(item: tarfile.TarInfo, name: str) -> str:
    """The name that has the bytes of a hard link, else its own."""
    return _inner(item.linkname) if item.islnk() else name


def _heads(members: dict[str, tarfile.TarInfo]) -> dict[str, str]:
    """Of files with several names, the first in order: the others are links to it."""
    heads: dict[str, str] = {}
    for name in sorted(members):
        heads.setdefault(_target(members[name], name), name)
    return heads


def _entry(item: tarfile.TarInfo, name: str, epoch: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.linkname = item.type, item.mode & 0o7777, item.linkname
    entry.uid, entry.gid, entry.mtime = item.uid, item.gid, min(int(item.mtime), epoch)
    entry.devmajor, entry.devminor = item.devmajor, item.devminor
    entry.size = item.size if item.isreg() else 0
    entry.pax_headers = {key: value for key, value in item.pax_headers.items() if key == _KEPT}
    return entry
