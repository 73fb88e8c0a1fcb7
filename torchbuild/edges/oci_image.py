"""Reading an image that lies in one file: as engines save one, an OCI layout, or the tar of a root alone.

Everything is read by its digest, and the image's id is the digest of its configuration, which names the
digest of each layer: what has the right id is the right image, whoever made the file.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from torchbuild.edges.atomic import translated
from torchbuild.edges.oci_documents import NAME_KEY, blob_path
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OciImage", "damaged", "images_of", "layers", "root_alone"]

_MOST_DOCUMENT = 4 << 20
"""Bytes of a manifest or a configuration; real ones have a few thousand."""
_MOST_ENTRIES = 1000
"""Entries that are looked at for an index; a layout has one a blob."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OciImage:
    """An image, and where its bytes are."""

    archive: Path
    """The file."""
    id: str
    """What an engine calls its id; for the tar of a root alone, the file's own digest."""
    name: str
    """What it was called when it was saved; may be empty."""
    layers: tuple[tuple[str, str], ...]
    """Lowest first: the blob's entry in the archive (empty: the archive itself), and the digest that its
    uncompressed bytes must have."""


def images_of(archive: Path) -> tuple[OciImage, ...]:
    """The images of a file that an engine saved; none where it is something else.

    Where it is both an engine's own format and an OCI layout, the first counts: engines change the
    configuration, and with it the id, when they save an image of their own format as the other.

    Raises:
        HostError: ``image-archive-damaged``, ``file-missing``, ``not-writable``, ``file-operation-failed``.
    """
    with translated(archive), _opened(archive) as tar:
        blobs = _entries(tar)
        with _understood(archive):
            if "manifest.json" in blobs:
                saved = _document(archive, tar, blobs["manifest.json"])
                return tuple(_saved_image(archive, tar, blobs, entry) for entry in saved)
            if "index.json" in blobs:
                index = _document(archive, tar, blobs["index.json"])
                return tuple(_oci_image(archive, tar, blobs, entry) for entry in index["manifests"])
    return ()


def root_alone(archive: Path, digest: str) -> OciImage:
    """The tar of a root, as an image of one layer whose id is the file's digest."""
    return OciImage(archive=archive, id=digest, name="", layers=(("", digest),))


@contextlib.contextmanager
def layers(image: OciImage, number: int) -> Iterator[tarfile.TarFile]:
    """One layer, entry by entry; its digest is compared when the body has ended.

    Raises:
        HostError: ``image-archive-damaged``, ``file-missing``, ``file-operation-failed``.
    """
    entry, digest = image.layers[number]
    archive = image.archive
    with translated(archive), contextlib.ExitStack() as stack:
        outer: IO[bytes] = stack.enter_context(archive.open("rb"))
        if entry:
            tar = stack.enter_context(tarfile.open(fileobj=outer, mode="r:"))
            outer = _blob(archive, tar, _entries(tar)[entry])
        hashed = _Hashed(_uncompressed(archive, outer))
        with _readable(archive):
            with tarfile.open(fileobj=hashed, mode="r|") as layer:
                yield layer
            while hashed.read(1 << 20):
                pass
    if hashed.digest() != digest:
        raise damaged(archive, f"a layer with the digest {hashed.digest()}", f"the digest {digest}")


def damaged(archive: Path, seen: str, wanted: str) -> HostError:
    """That the file is not the image that it should be; for the caller to raise."""
    return HostError(
        "image-archive-damaged",
        f"{archive}: not a whole image",
        why=(f"seen: {seen}", f"wanted: {wanted}"),
        fix=f"Write the image again: podman save --output {archive} IMAGE",
    )


class _Hashed(io.RawIOBase):
    """Passes bytes on, and keeps their digest."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        """Of all that was read."""
        return self._hash.hexdigest()


def _uncompressed(archive: Path, stream: IO[bytes]) -> IO[bytes]:
    """Recognised by its first bytes: media types are often wrong."""
    head = stream.read(4)
    stream.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if head == b"\x28\xb5\x2f\xfd":
        raise damaged(archive, "a layer compressed with zstd", "one that is plain or compressed with gzip")
    return stream


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    with _readable(archive), tarfile.open(archive, "r:") as tar:
        yield tar


@contextlib.contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise damaged(archive, str(error), "an image in a tar") from error


@contextlib.contextmanager
def _understood(archive: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(archive, f"{type(error).__name__}: {error}", "the documents of an OCI image") from error


def _entries(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        if len(found) == _MOST_ENTRIES:
            return {}
        found[member.name.removeprefix("./")] = member
    return found


def _blob(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member) if member.isfile() or member.issym() else None
    if file is None:
        raise damaged(archive, f"{member.name} is no file", "a blob")
    return file


def _document(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, digest: str | None = None) -> Any:  # noqa: ANN401  any JSON
    if member.size > _MOST_DOCUMENT:
        raise damaged(archive, f"{member.name} of {member.size} bytes", "a document of an OCI image")
    data = _blob(archive, tar, member).read()
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise damaged(archive, f"{member.name} with another digest", f"the digest {digest}")
    return json.loads(data)


def _saved_image(
    archive: Path, tar: tarfile.TarFile, blobs: dict[str, tarfile.TarInfo], entry: dict[str, Any]
) -> OciImage:
    data = _blob(archive, tar, blobs[entry["Config"]]).read(_MOST_DOCUMENT)
    names = json.loads(data)["rootfs"]["diff_ids"]
    return OciImage(
        archive=archive,
        id=hashlib.sha256(data).hexdigest(),
        name=next(iter(entry.get("RepoTags") or ()), ""),
        layers=_pairs(entry["Layers"], names),
    )


def _oci_image(
    archive: Path, tar: tarfile.TarFile, blobs: dict[str, tarfile.TarInfo], descriptor: dict[str, Any]
) -> OciImage:
    digest = _digest(descriptor)
    manifest = _document(archive, tar, blobs[blob_path(digest)], digest)
    config = _digest(manifest["config"])
    names = _document(archive, tar, blobs[blob_path(config)], config)["rootfs"]["diff_ids"]
    places = [blob_path(_digest(layer)) for layer in manifest["layers"]]
    return OciImage(
        archive=archive,
        id=config,
        name=str((descriptor.get("annotations") or {}).get(NAME_KEY, "")),
        layers=_pairs(places, names),
    )


def _pairs(places: list[str], digests: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (place, digest.removeprefix("sha256:")) for place, digest in zip(places, digests, strict=True)
    )


def _digest(descriptor: dict[str, Any]) -> str:
    return str(descriptor["digest"]).removeprefix("sha256:")
