"""The executor that runs commands in an unpacked builder image, on machines without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torchbuild.edges.mounts import Mounts
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

    name: ClassVar[str] = "rootfs"
    program_fix: ClassVar[str] = (
        "Add the package that holds it to the image's package list and make the image again."
    )
    namespaces_fix: ClassVar[str] = (
        "Allow user namespaces on this machine, or set machine.engine to an engine that is installed."
    )

    def __init__(
        self,
        *,
        image: Path,
        root: Path,
        store: Path,
        cache: Path,
        jobs: int | None = None,
        memory_gib: float | None = None,
    ) -> None:
        """Make the directories where they are missing.

        Args:
            image: the unpacked image; `torchbuild.edges.roots.rootfs_for` has it.
            root: the workspace's root, which the build sees at the fixed path.
            store: locked inputs, read-only inside.
            cache: outlives the build, writable inside.
            jobs: compiles at a time, and processors that a command runs on; None for all.
            memory_gib: GiB that a command may use, swap included; None for no limit.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        mounts = Mounts(root=root, store=store, cache=cache)
        options = [f"--image={image.absolute()}", "--as-root"]
        super().__init__(mounts, jobs=jobs, memory_gib=memory_gib, options=options)
