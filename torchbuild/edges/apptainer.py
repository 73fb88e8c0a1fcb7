"""The executor that runs commands in an unpacked builder image by way of Apptainer.

For clusters that have it and refuse namespaces to users: Apptainer's own starter may make them. What it is
asked for stands in its test; whether there is a network then, the look from inside tells before each build.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Unpack

from torchbuild.edges.atomic import remove_tree, temp_beside, translated
from torchbuild.edges.container import ContainerExecutor
from torchbuild.edges.mounted import Room
from torchbuild.edges.process import capture
from torchbuild.edges.sandbox_limits import limited
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torchbuild.edges.lifeline import Lifeline
    from torchbuild.model.artifact import ImageRef

__all__ = ["ApptainerExecutor", "find_apptainer"]

_PATIENCE_S = 30.0


def find_apptainer(program: str = "apptainer") -> str:
    """The program, where it answers.

    Raises:
        HostError: ``no-container-engine``.
    """
    try:
        capture([program, "--version"], timeout_s=_PATIENCE_S)
    except HostError as error:
        raise HostError(
            "no-container-engine",
            "this machine has no Apptainer that answers",
            why=(f"seen: {error.reference}", "wanted: one that answers `--version`"),
            fix="Install Apptainer or load the module that has it, or set machine.engine to rootfs.",
        ) from error
    return program


class ApptainerExecutor(ContainerExecutor):
    """Runs commands in the root of an image; see `torchbuild.context.Executor`.

    Apptainer keeps no containers: a command's processes end with it, and with us by the pipe that every
    container lives by.
    """

    def __init__(self, *, program: str, image: ImageRef, directory: Path, **room: Unpack[Room]) -> None:
        """Make the directories where they are missing; the program is not asked yet.

        Args:
            program: ``apptainer``, or the path of one.
            image: the builder, for messages.
            directory: the unpacked image; `torchbuild.edges.roots.rootfs_for` has it.
            **room: the build's place on this machine.

        Raises:
            HostError: ``path-not-mountable``, ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        super().__init__(engine=program, image=image, **room)
        self._directory = directory.absolute()

    def remove_stale(self) -> tuple[str, ...]:
        """Nothing: Apptainer keeps nothing of a command that ended."""
        return ()

    def _remove(self, containers: Sequence[str]) -> None:
        """Nothing is kept."""

    def _watched(self, container: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """It knows no pause."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def _container(self) -> Iterator[tuple[str, Lifeline]]:
        """The name is a directory for the command's temporary files, beside the workspace's root."""
        scratch = temp_beside(self._mounts.root)
        with translated(scratch):
            scratch.mkdir()
        try:
            with super()._container() as (_, line):
                yield str(scratch), line
        finally:
            remove_tree(scratch)

    def _environ(self) -> dict[str, str]:
        """Without the variables by which a machine's owner or user adds directories and options."""
        own = ("APPTAINER", "SINGULARITY")
        return {name: value for name, value in super()._environ().items() if not name.startswith(own)}

    def _shell_inside(self, network: str, container: str, options: Sequence[str]) -> list[str]:  # noqa: ARG002
        alone = ["--net", "--network=none", "--uts", "--hostname=localhost"] if network == "none" else []
        words = [
            *(self._engine, "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--fakeroot"),
            *(f"--bind={bind}" for bind in self._binds),
            *(*alone, *self._limits(), f"--workdir={container}", "--pwd=/"),
            *(str(self._directory), "/bin/sh"),
        ]
        return limited(words, self._jobs)

    def _assert_limits(self) -> None:
        """Apptainer itself ends where it cannot limit memory; processors are inherited."""

    def _limits(self) -> list[str]:
        """Memory alone: processors and the rest are inherited, which needs no control group."""
        limits = [limit for limit in super()._limits() if limit.startswith("--memory")]
        return [limit.removesuffix("b") for limit in limits]

    def _not_started(self, evidence: tuple[str, ...]) -> HostError:
        return HostError(
            "engine-failed",
            f"{self.name}: it could not start anything in {self._image.name}",
            why=(f"seen: {evidence[-1] if evidence else 'no message'}", "wanted: a command that starts"),
            fix=f"Run `{self._engine} exec --fakeroot {self._directory} true` by hand; mend what it reports.",
            evidence=evidence,
        )
