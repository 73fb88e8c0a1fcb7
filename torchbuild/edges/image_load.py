"""Where images are kept on a machine: an engine's own storage, or directories of unpacked roots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from torchbuild.edges.atomic import translated
from torchbuild.edges.engine import engine_argv
from torchbuild.edges.image import has_image, inspect_image
from torchbuild.edges.process import capture, run_process
from torchbuild.edges.roots import rootfs_for
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef

__all__ = ["EngineStorage", "ImageStorage", "UnpackedRoots"]


class ImageStorage(Protocol):
    """Keeps images by their ids."""

    def has(self, image_id: str) -> bool:
        """Whether it keeps the image."""
        ...

    def take(self, archive: Path, image: ImageRef, called: str) -> None:
        """Keep the image of an archive, and make sure that it is the very one.

        Args:
            archive: as `torchbuild.edges.oci_archive.write_archive` writes it; the storage may move it away.
            image: its id, and the name that people give it.
            called: what the archive calls it.
        """
        ...


class EngineStorage:
    """What podman or docker keeps."""

    def __init__(self, engine: str) -> None:
        self._engine = engine

    def has(self, image_id: str) -> bool:
        """As `ImageStorage.has`; an engine that gives no answer has it, and says more when it is used."""
        return has_image(self._engine, image_id)

    def take(self, archive: Path, image: ImageRef, called: str) -> None:
        """As `ImageStorage.take`.

        Raises:
            HostError: ``image-not-loaded``, ``image-id-unlike``; as `inspect_image`.
        """
        log = archive.with_name(f"{archive.name}.log")
        done = run_process(
            engine_argv(self._engine, "load", "--input", str(archive)), environ=os.environ, log=log
        )
        if done.exit_code != 0:
            raise _not_loaded(self._engine, image.name, done.exit_code, done.tail[-10:])
        found = inspect_image(self._engine, called)
        if found.id != image.id:
            raise _unlike(self._engine, image, found.id)
        capture(engine_argv(self._engine, "tag", image.id, image.name))


class UnpackedRoots:
    """What the executor ``rootfs`` keeps; see `torchbuild.edges.roots`."""

    def __init__(self, roots: Path) -> None:
        self._roots = roots

    def has(self, image_id: str) -> bool:
        """As `ImageStorage.has`."""
        return (self._roots / image_id).is_dir()

    def take(self, archive: Path, image: ImageRef, called: str) -> None:  # noqa: ARG002  engines need it
        """As `ImageStorage.take`: the archive is unpacked and then removed.

        Raises:
            HostError: as `torchbuild.edges.roots.rootfs_for`.
        """
        place = self._roots / f"{image.id}.tar"
        with translated(place):
            self._roots.mkdir(parents=True, exist_ok=True)
            archive.rename(place)
            try:
                rootfs_for(self._roots, image)
            finally:
                place.unlink()


def _not_loaded(engine: str, name: str, code: int, evidence: tuple[str, ...]) -> HostError:
    return HostError(
        "image-not-loaded",
        f"{name}: {engine} does not take the image",
        why=(f"seen: exit code {code}", "wanted: exit code 0"),
        fix=f"Mend what {engine} reports above; remove images that nobody needs if its storage is full.",
        evidence=evidence,
    )


def _unlike(engine: str, image: ImageRef, seen: str) -> HostError:
    return HostError(
        "image-id-unlike",
        f"{image.name}: {engine} calls the image otherwise than by the digest of its configuration",
        why=(f"seen {seen}", f"wanted {image.id}"),
        fix="Use podman, or docker without its containerd image store.",
    )
