"""Unpacked images: found by their id, unpacked once, whole or not there."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import torchbuild
from torchbuild.edges.roots import find_root, rootfs_for
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef

NAME = "localhost/small"


def packed(files: dict[str, bytes]) -> bytes:
    """A tar of files that belong to the caller."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid = len(data), os.geteuid(), os.getegid()
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def save(path: Path, content: str = "ID=small\n", name: str = f"{NAME}:latest") -> ImageRef:
    """A file as an engine saves one."""
    layer = packed({"etc/os-release": content.encode()})
    config = json.dumps({"rootfs": {"diff_ids": [hashlib.sha256(layer).hexdigest()]}}).encode()
    entry = {"Config": "c", "RepoTags": [name], "Layers": ["l"]}
    path.write_bytes(packed({"manifest.json": json.dumps([entry]).encode(), "c": config, "l": layer}))
    return ImageRef(name=NAME, id=hashlib.sha256(config).hexdigest())


def test_saved_image_is_unpacked_once(tmp_path: Path) -> None:
    """The first build unpacks it under its id; later ones need the file no more."""
    image = save(tmp_path / "any.tar")
    first = rootfs_for(tmp_path, image)
    (tmp_path / "any.tar").unlink()
    again = rootfs_for(tmp_path, image)
    assert (first, again, (first / "etc/os-release").read_text()) == (
        tmp_path / image.id,
        first,
        "ID=small\n",
    )


def test_directory_under_the_id_is_enough(tmp_path: Path) -> None:
    """Whoever unpacked an image by other means lays it there."""
    (tmp_path / ("a" * 64)).mkdir()
    assert rootfs_for(tmp_path, ImageRef(name=NAME, id="a" * 64)) == tmp_path / ("a" * 64)


def test_tar_of_a_root_is_an_image(tmp_path: Path) -> None:
    """A root alone is known by the digest of its tar, under which it lies."""
    layer = packed({"etc/os-release": b"ID=alone\n"})
    own = hashlib.sha256(layer).hexdigest()
    (tmp_path / f"{own}.tar").write_bytes(layer)
    assert (rootfs_for(tmp_path, ImageRef(name=NAME, id=own)) / "etc/os-release").read_text() == "ID=alone\n"


def test_missing_image_says_how_it_is_brought(tmp_path: Path) -> None:
    """Without the image the error has the command that saves it."""
    with pytest.raises(HostError) as caught:
        rootfs_for(tmp_path / "nothing", ImageRef(name=NAME, id="0" * 64))
    assert (caught.value.reference, f"podman save --output {tmp_path}/nothing/" in caught.value.fix) == (
        "image-missing",
        True,
    )


def test_other_image_of_the_name_is_not_taken(tmp_path: Path) -> None:
    """The id decides: a newer image under the same name is another one."""
    save(tmp_path / "image.tar", "ID=newer\n")
    with pytest.raises(HostError) as caught:
        rootfs_for(tmp_path, ImageRef(name=NAME, id="0" * 64))
    assert caught.value.reference == "image-missing"


def test_name_finds_the_id(tmp_path: Path) -> None:
    """A recipe without an id is locked to the image that is there, before and after it is unpacked."""
    image = save(tmp_path / "image.tar")
    before = find_root(tmp_path, NAME)
    rootfs_for(tmp_path, image)
    (tmp_path / "image.tar").unlink()
    assert (before, find_root(tmp_path, NAME)) == (image, image)


def test_two_images_of_one_name_are_not_guessed_at(tmp_path: Path) -> None:
    """Where a name is not one image, none is chosen."""
    save(tmp_path / "old.tar")
    save(tmp_path / "new.tar", "ID=newer\n")
    with pytest.raises(HostError) as caught:
        find_root(tmp_path, NAME)
    assert (caught.value.reference, "there are 2" in caught.value.why[1]) == ("image-missing", True)


def test_damaged_file_leaves_nothing(tmp_path: Path) -> None:
    """An image that is not whole is not there afterwards, not even in part."""
    image = save(tmp_path / "image.tar")
    data = (tmp_path / "image.tar").read_bytes()
    (tmp_path / "image.tar").write_bytes(data.replace(b"ID=small", b"ID=smell"))
    with pytest.raises(HostError) as caught:
        rootfs_for(tmp_path, image)
    assert (caught.value.reference, [path.name for path in tmp_path.iterdir()]) == (
        "image-archive-damaged",
        ["image.tar"],
    )


KILLED = """
import os, signal, sys
from pathlib import Path
from torchbuild.edges import roots
from torchbuild.model.artifact import ImageRef
def unpack(image, temp):
    temp.mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
roots.unpack_layers = unpack
roots.rootfs_for(Path(sys.argv[1]), ImageRef(name="x", id=sys.argv[2]))
"""


def test_killed_unpacking_is_begun_anew(tmp_path: Path) -> None:
    """A run that was killed while it unpacked leaves no half a root, and the next one sweeps what it left."""
    image = save(tmp_path / "image.tar")
    environ = {"PYTHONPATH": str(Path(torchbuild.__file__).parents[1])}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), image.id], env=environ, check=False)
    left = len(list(tmp_path.iterdir()))
    root = rootfs_for(tmp_path, image)
    assert (killed.returncode, left, (root / "etc/os-release").is_file()) == (-signal.SIGKILL, 2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [image.id, f"{image.id}.json", "image.tar"]
    )
