"""The documents of an image whose digests are its names: nothing in them depends on a machine or a day."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import NamedTuple

from torchbuild.model.artifact import Sha256
from torchbuild.model.locked_image import LockedImage

__all__ = [
    "LAYOUT_VERSION",
    "NAME_KEY",
    "PATH",
    "Blob",
    "blob",
    "blob_path",
    "config_of",
    "docker_manifest",
    "index_of",
    "manifest_of",
]

LAYOUT_VERSION = b'{"imageLayoutVersion":"1.0.0"}'
"""What the file ``oci-layout`` holds."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a root's programs are."""

NAME_KEY = "org.opencontainers.image.ref.name"
"""The annotation that holds an image's name."""

_OCI = "application/vnd.oci.image"


class Blob(NamedTuple):
    """A part of an image, by digest."""

    sha256: Sha256
    size: int
    """Bytes."""


def blob(content: bytes) -> Blob:
    """What `content` is called."""
    return Blob(hashlib.sha256(content).hexdigest(), len(content))


def blob_path(sha256: str) -> str:
    """Where a layout keeps a blob."""
    return f"blobs/sha256/{sha256}"


def config_of(image: LockedImage, inputs: str, layer: str) -> bytes:
    """The configuration; its digest is the image's id."""
    created = datetime.fromtimestamp(image.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _bytes(
        {
            "architecture": image.architecture,
            "os": "linux",
            "created": created,
            "config": {
                "Cmd": ["/bin/bash"],
                "Env": [f"PATH={PATH}"],
                "Labels": {"torchbuild.inputs": inputs},
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
            "history": [{"created": created, "created_by": "torchbuild image"}],
        }
    )


def manifest_of(config: Blob, layer: Blob) -> bytes:
    """The manifest. The layer is not compressed: no two compressors give the same bytes."""
    return _bytes(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _descriptor(config, f"{_OCI}.config.v1+json"),
            "layers": [_descriptor(layer, f"{_OCI}.layer.v1.tar")],
        }
    )


def index_of(manifest: Blob, name: str) -> bytes:
    """The layout's table of contents."""
    entry = _descriptor(manifest, f"{_OCI}.manifest.v1+json")
    entry["annotations"] = {NAME_KEY: name, "io.containerd.image.name": name}
    return _bytes({"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": [entry]})


def docker_manifest(config: str, layer: str, name: str) -> bytes:
    """The same table for engines that read no OCI layout."""
    return _bytes([{"Config": blob_path(config), "RepoTags": [name], "Layers": [blob_path(layer)]}])


def _descriptor(part: Blob, media_type: str) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{part.sha256}", "size": part.size}


def _bytes(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
