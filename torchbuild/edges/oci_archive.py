"""An image as one file: an OCI layout in a tar that older engines can read too. No owner, no day is in it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple

from torchbuild.edges.atomic import temp_beside, translated
from torchbuild.edges.image_layer import write_layer
from torchbuild.edges.oci_documents import (
    LAYOUT_VERSION,
    Blob,
    blob,
    blob_path,
    config_of,
    docker_manifest,
    index_of,
    manifest_of,
)

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from torchbuild.model.locked_image import LockedImage

__all__ = ["ImageFile", "write_archive"]

_BLOCK = 512


class ImageFile(NamedTuple):
    """What an archive holds."""

    config: Blob
    """Its digest is what an engine calls the image's id."""
    manifest: Blob
    """Its digest is what a registry would call the image."""
    layer: Blob
    """The root."""


def write_archive(target: Path, root: Path, image: LockedImage, *, inputs: str, name: str) -> ImageFile:
    """Write the image whose only layer is `root`.

    Args:
        target: the archive; it is there when it is whole.
        root: an uncompressed tar.
        image: for architecture and times.
        inputs: digest of all that the image is made of; goes into a label.
        name: what an engine that loads the archive calls the image; without a tag, ``latest`` is meant, and
            said: Docker refuses an archive that leaves it out.

    Raises:
        HostError: ``root-unreadable``; as `torchbuild.edges.atomic.translated` says.
    """
    temp = temp_beside(target)
    with translated(target):
        try:
            with temp.open("xb") as file:
                made = _write(file, root, image, inputs, name)
            temp.replace(target)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
    return made


def _write(file: BinaryIO, root: Path, image: LockedImage, inputs: str, name: str) -> ImageFile:
    layer = _write_layer(file, root, image.epoch)
    config = config_of(image, inputs, layer.sha256)
    manifest = manifest_of(blob(config), layer)
    made = ImageFile(blob(config), blob(manifest), layer)
    members = {
        blob_path(made.config.sha256): config,
        blob_path(made.manifest.sha256): manifest,
        "index.json": index_of(made.manifest, _tagged(name)),
        "manifest.json": docker_manifest(made.config.sha256, layer.sha256, _tagged(name)),
        "oci-layout": LAYOUT_VERSION,
    }
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in members.items():
            archive.addfile(_entry(path, len(content)), io.BytesIO(content))
    return made


def _tagged(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _write_layer(file: BinaryIO, root: Path, epoch: int) -> Blob:
    """The layer as the archive's first member; its head, which names its digest, is written last."""
    file.seek(_BLOCK)
    copy = _Counted(file)
    write_layer(root, copy, epoch)
    end = file.tell()
    layer = Blob(copy.digest.hexdigest(), end - _BLOCK)
    file.seek(0)
    file.write(_entry(blob_path(layer.sha256), layer.size).tobuf(tarfile.PAX_FORMAT))
    file.seek(end)
    return layer


def _entry(path: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = size, 0o644
    return entry


class _Counted(io.RawIOBase):
    """Writes through to a file, and knows the digest of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.digest = hashlib.sha256()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401  any buffer, which has no name before Python 3.12
        self.digest.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell() - _BLOCK
