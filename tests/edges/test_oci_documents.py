"""The documents whose digests name an image."""

from __future__ import annotations

import json

import pytest

from torchbuild.edges.oci_documents import blob, config_of, docker_manifest, index_of, manifest_of
from torchbuild.model.artifact import Artifact
from torchbuild.model.locked_image import LockedImage

LAYER = "ab" * 32
IMAGE = LockedImage(
    suite="sample",
    architecture="arm64",
    packages=(Artifact(locator="debian:sample/pool/main/a/apt/apt_3.0_arm64.deb", sha256=LAYER, size=1),),
    epoch=1754697600,
    revision=1,
)


def test_the_configuration_says_nothing_of_the_machine() -> None:
    """An image's id depends on its content alone, so that a lock holds on every machine."""
    assert json.loads(config_of(IMAGE, "cd" * 32, LAYER)) == {
        "architecture": "arm64",
        "os": "linux",
        "created": "2025-08-09T00:00:00Z",
        "config": {
            "Cmd": ["/bin/bash"],
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Labels": {"torchbuild.inputs": "cd" * 32},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{LAYER}"]},
        "history": [{"created": "2025-08-09T00:00:00Z", "created_by": "torchbuild image"}],
    }


@pytest.mark.parametrize("inputs", ["cd" * 32, "ef" * 32], ids=["one", "another"])
def test_documents_are_the_same_bytes_each_time(inputs: str) -> None:
    """Keys have an order and no spaces: a digest of JSON is a digest of bytes."""
    config = config_of(IMAGE, inputs, LAYER)

    assert config == config_of(IMAGE, inputs, LAYER)
    assert config == json.dumps(json.loads(config), sort_keys=True, separators=(",", ":")).encode()


def test_each_document_names_the_next_by_digest_and_size() -> None:
    """From the table of contents to the root nothing can be exchanged."""
    config, layer = blob(b"{}"), blob(b"layer")
    manifest = manifest_of(config, layer)
    index = json.loads(index_of(blob(manifest), "localhost/x:1"))
    (entry,) = index["manifests"]
    inner = json.loads(manifest)

    assert (entry["digest"], entry["size"]) == (f"sha256:{blob(manifest).sha256}", len(manifest))
    assert entry["annotations"]["org.opencontainers.image.ref.name"] == "localhost/x:1"
    assert inner["config"]["digest"] == f"sha256:{config.sha256}"
    assert [item["digest"] for item in inner["layers"]] == [f"sha256:{layer.sha256}"]


def test_engines_without_the_layout_find_the_same_parts() -> None:
    """What docker reads names the same blobs."""
    (entry,) = json.loads(docker_manifest("ab" * 32, "cd" * 32, "localhost/x:1"))

    assert entry == {
        "Config": f"blobs/sha256/{'ab' * 32}",
        "RepoTags": ["localhost/x:1"],
        "Layers": [f"blobs/sha256/{'cd' * 32}"],
    }
