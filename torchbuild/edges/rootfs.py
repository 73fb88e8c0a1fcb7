"""The executor that runs commands in an unpacked builder image, on machines without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack

from torchbuild.edges.mounted import Room
from torchbuild.edges.sandboxed import SandboxExecutor

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RootfsExecutor"]


class RootfsExecutor(SandboxExecutor):
    """Runs commands in the root of an image; see `torchbuild.context.Executor`.

    A command sees the image's files, read-only, with the usual devices, /proc, /sys, an empty /run and
    temporary directories of its own. As in an engine's container it is root inside, and what it makes belongs
    to the caller.
    """

    program_fix: ClassVar[str] = (
        "Add the package that holds it to the image's package list and make the image again."
    )
    namespaces_fix: ClassVar[str] = (
        "Allow user namespaces on this machine, or set machine.engine to an engine that is installed."
    )

    def __init__(self, *, image: Path, **room: Unpack[Room]) -> None:
        """Make the directories where they are missing.

        Args:
            image: the unpacked image; `torchbuild.edges.roots.rootfs_for` has it.
            **room: the build's place on this machine.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        super().__init__(**room)
        self._options = (f"--image={image.absolute()}", "--as-root")

    @property
    def name(self) -> str:
        """``rootfs``."""
        return "rootfs"
