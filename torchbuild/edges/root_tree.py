"""An image's layers laid down as one directory.

What the layers hold together is worked out first, then written once: directories, files, hard links, and
symbolic links last, so that nothing is ever written through a link of the image.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.edges.oci_image import OciImage, damaged, layers
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["unpack_layers"]

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE)
"""What a root is made of; devices, which only root could make, come from the machine."""


@dataclass(slots=True)
class _Tree:
    """What is laid down, and what waits until all files are there."""

    top: Path
    image: OciImage
    directories: list[tuple[Path, tarfile.TarInfo]] = field(default_factory=list)
    hard_links: list[tuple[Path, Path]] = field(default_factory=list)
    links: dict[Path, tarfile.TarInfo] = field(default_factory=dict)


def unpack_layers(image: OciImage, target: Path) -> None:
    """Lay down the image's root, owners and times as they are; a user's files belong to the user.

    Args:
        image: as an archive.
        target: must not exist.

    Raises:
        HostError: ``image-archive-damaged``, ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    winners = _winners(image)
    with translated(target):
        target.mkdir(parents=True)
        tree = _Tree(target, image)
        for number in range(len(image.layers)):
            with layers(image, number) as layer:
                for order, member in enumerate(layer):
                    if winners.get(_path(image, member)) == (number, order):
                        with _placed(tree, member):
                            _lay(tree, layer, member)
        _finish(tree)


@contextlib.contextmanager
def _placed(tree: _Tree, member: tarfile.TarInfo) -> Iterator[None]:
    """Tell a disk that refuses from an archive that contradicts itself."""
    try:
        with translated(tree.top):
            yield
    except HostError as error:
        if isinstance(error.__cause__, (FileExistsError, NotADirectoryError)):
            seen = f"{member.name!a} is a directory and something else"
            raise damaged(tree.image.archive, seen, "one of the two") from error
        raise


def _winners(image: OciImage) -> dict[str, tuple[int, int]]:
    """For each path the layer and the entry that it is of, in the end."""
    won: dict[str, tuple[int, int]] = {}
    for number in range(len(image.layers)):
        below: dict[str, tuple[int, int]] = {}
        folders = {str(parent) for path in won for parent in PurePosixPath(path).parents}
        with layers(image, number) as layer:
            for order, member in enumerate(layer):
                path = _path(image, member)
                folder, _, name = path.rpartition("/")
                if name == _OPAQUE:
                    _remove(won, folder, keep_top=True)
                elif name.startswith(_WHITEOUT):
                    _remove(won, os.path.join(folder, name.removeprefix(_WHITEOUT)))  # noqa: PTH118  no path here
                elif path and member.type in _KINDS:
                    if not member.isdir() and path in folders:
                        _remove(won, path)
                    below[path] = (number, order)
        won |= below
    return won


def _remove(won: dict[str, tuple[int, int]], path: str, *, keep_top: bool = False) -> None:
    for other in [one for one in won if one.startswith(f"{path}/") or (one == path and not keep_top)]:
        del won[other]


def _path(image: OciImage, member: tarfile.TarInfo) -> str:
    """The entry's path below the root, without any dots."""
    parts = [part for part in member.name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise damaged(image.archive, f"an entry {member.name!a}", "paths below the root")
    return "/".join(parts)


def _lay(tree: _Tree, layer: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    place = tree.top / _path(tree.image, member)
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        tree.directories.append((place, member))
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        tree.links[place] = member
    elif member.islnk():
        target = tarfile.TarInfo(member.linkname)
        tree.hard_links.append((place, tree.top / _path(tree.image, target)))
    else:
        source = layer.extractfile(member)
        if source is None:
            raise damaged(tree.image.archive, f"{member.name!a} without content", "a file")
        with place.open("xb") as file:
            shutil.copyfileobj(source, file)
        _keep(place, member)


def _finish(tree: _Tree) -> None:
    for place, target in tree.hard_links:
        if target in tree.links:
            tree.links[place] = tree.links[target]
        elif target.is_file() and not place.exists():
            place.hardlink_to(target)
        else:
            raise damaged(tree.image.archive, f"a link to {target.name!a}, which is no file", "whole layers")
    for place, member in tree.links.items():
        if os.path.lexists(place):
            raise damaged(tree.image.archive, f"{member.name!a}: a link and a directory", "one of the two")
        place.symlink_to(member.linkname)
        _own(place, member)
    for place, member in sorted(tree.directories, reverse=True):
        _keep(place, member)


def _keep(place: Path, member: tarfile.TarInfo) -> None:
    _own(place, member)
    place.chmod(member.mode & 0o7777)
    time = int(member.mtime * 1_000_000_000)
    os.utime(place, ns=(time, time))


def _own(place: Path, member: tarfile.TarInfo) -> None:
    if os.geteuid() == 0:
        os.chown(place, member.uid, member.gid, follow_symlinks=False)
