"""An image as one file."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from torchbuild.edges.oci_archive import ImageFile, write_archive
from torchbuild.errors import HostError
from torchbuild.model.artifact import Artifact
from torchbuild.model.locked_image import LockedImage

IMAGE = LockedImage(
    suite="sample",
    architecture="amd64",
    packages=(Artifact(locator="debian:sample/pool/main/a/apt/apt_3.0_amd64.deb", sha256="ab" * 32, size=1),),
    epoch=1754697600,
    revision=1,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one file of more than one block."""
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo("./file")
        entry.size = 100_000
        tar.addfile(entry, io.BytesIO(b"x" * 100_000))
    return path


def write(target: Path, root: Path, name: str = "localhost/x:1") -> ImageFile:
    """The archive."""
    return write_archive(target, root, IMAGE, inputs="cd" * 32, name=name)


def test_every_part_has_the_digest_that_it_is_called_by(root: Path, tmp_path: Path) -> None:
    """The archive is an OCI layout: each blob is named by its content, and the index leads to all of them."""
    made = write(tmp_path / "image.tar", root)
    with tarfile.open(tmp_path / "image.tar") as tar:
        content = {item.name: tar.extractfile(item).read() for item in tar}  # type: ignore[union-attr]
    blobs = {
        name.rpartition("/")[2]: data for name, data in content.items() if name.startswith("blobs/sha256/")
    }

    assert {name: hashlib.sha256(data).hexdigest() for name, data in blobs.items()} == {
        name: name for name in blobs
    }
    assert set(blobs) == {part.sha256 for part in made}
    assert [len(blobs[part.sha256]) for part in made] == [part.size for part in made]
    assert json.loads(content["index.json"])["manifests"][0]["digest"] == f"sha256:{made.manifest.sha256}"
    assert json.loads(content["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    assert json.loads(content["manifest.json"])[0]["RepoTags"] == ["localhost/x:1"]


@pytest.mark.parametrize(
    ("name", "tagged"),
    [("localhost/x", "localhost/x:latest"), ("host:5000/a/b", "host:5000/a/b:latest"), ("x:1", "x:1")],
)
def test_a_name_without_a_tag_means_the_latest(root: Path, tmp_path: Path, name: str, tagged: str) -> None:
    """Docker refuses an archive whose name has no tag, and containerd takes the index's: both have one."""
    write(tmp_path / "image.tar", root, name)
    with tarfile.open(tmp_path / "image.tar") as tar:
        saved, index = (
            json.load(tar.extractfile(item) or io.BytesIO()) for item in ("manifest.json", "index.json")
        )

    assert saved[0]["RepoTags"] == [tagged]
    assert set(index["manifests"][0]["annotations"].values()) == {tagged}


def test_the_layer_is_named_by_the_configuration(root: Path, tmp_path: Path) -> None:
    """The id of the image is the digest of a document that names the digest of the root."""
    made = write(tmp_path / "image.tar", root)
    with tarfile.open(tmp_path / "image.tar") as tar:
        config = tar.extractfile(f"blobs/sha256/{made.config.sha256}")
        assert config is not None
        assert json.load(config)["rootfs"]["diff_ids"] == [f"sha256:{made.layer.sha256}"]


def test_the_same_root_is_the_same_file(root: Path, tmp_path: Path) -> None:
    """No time and no owner is in the archive; its name is in it and not in the image's digests."""
    one, two = write(tmp_path / "one", root), write(tmp_path / "two", root)
    other = write(tmp_path / "three", root, "localhost/other:2")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert one == two == other
    assert (tmp_path / "three").read_bytes() != (tmp_path / "one").read_bytes()


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """An archive that has its name is whole."""
    (tmp_path / "image.tar").write_text("before")
    (tmp_path / "root.tar").write_text("no root")
    with pytest.raises(HostError):
        write(tmp_path / "image.tar", tmp_path / "root.tar")

    assert (tmp_path / "image.tar").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 2
