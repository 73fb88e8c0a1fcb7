"""The executor that uses this machine's own tools, at the fixed path, in namespaces of its own."""

from __future__ import annotations

from typing import ClassVar

from torchbuild.edges.sandboxed import SandboxExecutor

__all__ = ["LocalExecutor"]


class LocalExecutor(SandboxExecutor):
    """Runs commands on this machine; see `torchbuild.context.Executor`.

    A command sees the machine as it is, read-only, but for the fixed path, temporary directories of its own
    (/tmp, /var/tmp, /dev/shm), the usual devices and the GPUs, and an empty /run.
    """

    program_fix: ClassVar[str] = (
        "Install the program on this machine, or name a builder image that has it in the table [image]."
    )
    namespaces_fix: ClassVar[str] = (
        "Build in a container: install podman or docker, and name a builder image in the table [image]."
    )

    @property
    def name(self) -> str:
        """``local``."""
        return "local"
