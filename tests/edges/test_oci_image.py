"""Images in files: found by the digest of what they are, whoever made the file."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.oci_image import OciImage, images_of, layers, root_alone
from torchbuild.errors import HostError


def tar_of(files: dict[str, bytes]) -> bytes:
    """A tar of plain files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def digest(data: bytes) -> str:
    """SHA-256."""
    return hashlib.sha256(data).hexdigest()


LAYER = tar_of({"etc/os-release": b"ID=small\n"})
CONFIG = json.dumps({"rootfs": {"diff_ids": [f"sha256:{digest(LAYER)}"]}}).encode()


def oci(folder: Path, *, layer: bytes = LAYER, config: bytes = CONFIG, **changed: bytes) -> Path:
    """A file with an OCI layout; any entry of it can be another one."""
    manifest = json.dumps(
        {"config": {"digest": f"sha256:{digest(config)}"}, "layers": [{"digest": f"sha256:{digest(layer)}"}]}
    ).encode()
    described = {
        "digest": f"sha256:{digest(manifest)}",
        "annotations": {"org.opencontainers.image.ref.name": "localhost/small:latest"},
    }
    blobs = {f"blobs/sha256/{digest(data)}": data for data in (manifest, config, layer)}
    index = json.dumps({"manifests": [described]}).encode()
    path = folder / "oci.tar"
    path.write_bytes(tar_of({"index.json": index, **blobs} | changed))
    return path


def saved(folder: Path, **changed: Any) -> Path:
    """A file as engines save an image of their own."""
    entry = {"Config": "c.json", "RepoTags": ["localhost/small:latest"], "Layers": ["l.tar"]} | changed
    path = folder / "saved.tar"
    path.write_bytes(
        tar_of({"manifest.json": json.dumps([entry]).encode(), "c.json": CONFIG, "l.tar": LAYER})
    )
    return path


def names_in(image: OciImage) -> list[str]:
    """What the first layer holds."""
    with layers(image, 0) as layer:
        return [member.name for member in layer]


@pytest.mark.parametrize("make", [oci, saved])
def test_image_is_known_by_its_configuration(make: Any, tmp_path: Path) -> None:
    """Both formats give the engine's id, the name it was saved under, and the layers by their digests."""
    (image,) = images_of(make(tmp_path))
    assert (image.id, image.name, names_in(image)) == (
        digest(CONFIG),
        "localhost/small:latest",
        ["etc/os-release"],
    )


def test_compressed_layer_is_the_same_layer(tmp_path: Path) -> None:
    """A layer is compared by what it holds, not by how it was packed."""
    (image,) = images_of(oci(tmp_path, layer=gzip.compress(LAYER)))
    assert names_in(image) == ["etc/os-release"]


def test_engines_own_format_counts_where_a_file_has_both(tmp_path: Path) -> None:
    """An engine that rewrites its configuration for the layout does not change the id that was locked."""
    other = json.dumps({"rootfs": {"diff_ids": [f"sha256:{digest(LAYER)}"]}, "os": "linux"}).encode()
    entry = json.dumps([{"Config": "c.json", "RepoTags": None, "Layers": ["l.tar"]}]).encode()
    path = oci(tmp_path, config=other, **{"manifest.json": entry, "c.json": CONFIG, "l.tar": LAYER})
    assert [image.id for image in images_of(path)] == [digest(CONFIG)]


def test_other_layer_is_refused(tmp_path: Path) -> None:
    """A layer that is not the one that the configuration names is refused, though its blob is whole."""
    (image,) = images_of(oci(tmp_path, layer=tar_of({"etc/os-release": b"ID=other\n"})))
    with pytest.raises(HostError) as caught:
        names_in(image)
    assert (caught.value.reference, digest(LAYER) in caught.value.why[1]) == ("image-archive-damaged", True)


def test_root_alone_is_compared_too(tmp_path: Path) -> None:
    """The tar of a root has its own digest for an id."""
    path = tmp_path / "root.tar"
    path.write_bytes(LAYER)
    assert (names_in(root_alone(path, digest(LAYER))), images_of(path)) == (["etc/os-release"], ())
    with pytest.raises(HostError):
        names_in(root_alone(path, "0" * 64))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"index.json": b"{"}, id="no JSON"),
        pytest.param({"index.json": b"[]"}, id="no index"),
        pytest.param({"index.json": b'{"manifests": [{}]}'}, id="nothing described"),
        pytest.param({"index.json": b'{"manifests": [{"digest": "sha256:00"}]}'}, id="no such blob"),
        pytest.param({"manifest.json": b'[{"Config": "gone"}]'}, id="no configuration"),
        pytest.param({"index.json": b"0" * (5 << 20)}, id="too large"),
    ],
)
def test_nonsense_is_refused(changed: dict[str, bytes], tmp_path: Path) -> None:
    """A file that is no image ends in an error that says how to make it again."""
    with pytest.raises(HostError) as caught:
        images_of(oci(tmp_path, **changed))
    assert (caught.value.reference, "podman save" in caught.value.fix) == ("image-archive-damaged", True)


def test_layers_that_are_not_one_for_each_digest_are_refused(tmp_path: Path) -> None:
    """Every layer has a digest, and every digest a layer."""
    with pytest.raises(HostError):
        images_of(saved(tmp_path, Layers=["l.tar", "l.tar"]))


@pytest.mark.parametrize("length", [0, 100, 600, 2000, 2600])
def test_file_that_was_cut_off_is_refused(length: int, tmp_path: Path) -> None:
    """A copy that broke off has no image, or ends in an error: never in a part of one."""
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    assert found_in(path) in ([], ["image-archive-damaged"])


def found_in(path: Path) -> list[object]:
    """What the file's images hold, or the error's reference."""
    try:
        return [names_in(image) for image in images_of(path)]
    except HostError as error:
        return [error.reference]


def test_unknown_compression_is_named(tmp_path: Path) -> None:
    """A layer that cannot be read here says why."""
    (image,) = images_of(oci(tmp_path, layer=b"\x28\xb5\x2f\xfd" + bytes(100)))
    with pytest.raises(HostError, match="not a whole image") as caught:
        names_in(image)
    assert "zstd" in caught.value.why[0]
