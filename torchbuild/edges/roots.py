"""Builder images as directories, one for each image id: unpacked once, used by every build.

Layout: ``ROOTS/ID`` is the root, ``ROOTS/ID.json`` its name; images saved as files, ``ROOTS/*.tar``,
are unpacked when they are first needed.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import leftovers, remove_tree, sha256_of, temp_beside, translated, write_text
from torchbuild.edges.oci_image import OciImage, images_of, root_alone
from torchbuild.edges.root_tree import unpack_layers
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef, is_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["find_root", "rootfs_for"]


def rootfs_for(roots: Path, image: ImageRef) -> Path:
    """The directory that holds the image's root; unpacked here where its file is there.

    Args:
        roots: the directory of all roots.
        image: by its id; the name is for messages.

    Raises:
        HostError: ``image-missing`` with how to bring it, ``image-archive-damaged``, ``disk-full``,
            ``not-writable``, ``file-missing``, ``file-operation-failed``.
    """
    root = roots / image.id
    if root.is_dir():
        with contextlib.suppress(OSError):  # its last use, by which `torchbuild.edges.garbage` goes
            os.utime(roots / f"{image.id}.json")
        return root
    own = roots / f"{image.id}.tar"
    for found in _saved(roots):
        if found.id == image.id:
            return _unpack(roots, found)
    if own.is_file() and sha256_of(own) == image.id:
        return _unpack(roots, root_alone(own, image.id))
    raise _missing(roots, image.name, f"wanted: the image {image.id}, unpacked or as a file")


def find_root(roots: Path, name: str) -> ImageRef:
    """The image that is there under a name, unpacked or as a file.

    Raises:
        HostError: ``image-missing`` also where there are several, ``image-archive-damaged``.
    """
    known = {found.id for found in _saved(roots) if _is_called(found.name, name)}
    known |= {path.stem for path in roots.glob("*.json") if is_sha256(path.stem) and _is_noted(path, name)}
    if len(known) == 1:
        return ImageRef(name=name, id=known.pop())
    raise _missing(roots, name, f"wanted: one image of that name; there are {len(known)}")


def _saved(roots: Path) -> Iterator[OciImage]:
    for path in sorted(roots.glob("*.tar")):
        yield from images_of(path)


def _unpack(roots: Path, image: OciImage) -> Path:
    """Lay the root beside its place, then give it its name: a root that is there is whole."""
    for left in leftovers(roots):
        remove_tree(left)
    final = roots / image.id
    temp = temp_beside(final)
    try:
        unpack_layers(image, temp)
        write_text(roots / f"{image.id}.json", json.dumps({"name": image.name}) + "\n")
        with translated(final):
            if not final.is_dir():  # else another build was quicker
                temp.rename(final)
    finally:
        remove_tree(temp)
    return final


def _is_noted(path: Path, name: str) -> bool:
    try:
        noted = json.loads(path.read_bytes())
        return path.with_suffix("").is_dir() and _is_called(noted["name"], name)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_called(saved: str, name: str) -> bool:
    """Engines add the tag that they take for granted."""
    return name in (saved, saved.removesuffix(":latest"))


def _missing(roots: Path, name: str, wanted: str) -> HostError:
    return HostError(
        "image-missing",
        f"{name}: not among the unpacked images",
        why=(f"looked in {roots}", wanted),
        fix=f"Bring it from where an engine is: podman save --output {roots}/image.tar {name}",
    )
