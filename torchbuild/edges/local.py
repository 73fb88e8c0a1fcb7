"""The executor that uses this machine's own tools, at the fixed path, in namespaces of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torchbuild.edges.mounts import Mounts
from torchbuild.edges.sandboxed import SandboxExecutor

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LocalExecutor"]


class LocalExecutor(SandboxExecutor):
    """Runs commands on this machine; see `torchbuild.context.Executor`.

    A command sees the machine as it is, read-only, but for the fixed path, temporary directories of its own
    (/tmp, /var/tmp, /dev/shm), the usual devices and the GPUs, and an empty /run.
    """

    name: ClassVar[str] = "local"
    program_fix: ClassVar[str] = (
        "Install the program on this machine, or name a builder image that has it in the table [image]."
    )
    namespaces_fix: ClassVar[str] = (
        "Build in a container: install podman or docker, and name a builder image in the table [image]."
    )

    def __init__(
        self,
        *,
        root: Path,
        store: Path,
        cache: Path,
        jobs: int | None = None,
        memory_gib: float | None = None,
    ) -> None:
        """Make the directories where they are missing.

        Args:
            root: the workspace's root, which the build sees at the fixed path.
            store: locked inputs, read-only inside.
            cache: outlives the build, writable inside.
            jobs: compiles at a time, and processors that a command runs on; None for all.
            memory_gib: GiB that a command may use, swap included; None for no limit.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        super().__init__(Mounts(root=root, store=store, cache=cache), jobs=jobs, memory_gib=memory_gib)
