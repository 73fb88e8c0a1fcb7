"""Which container engine answers, and how it is asked."""

from __future__ import annotations

from pathlib import PurePath

from torchbuild.edges.process import capture
from torchbuild.errors import HostError

__all__ = ["engine_argv", "find_engine", "is_rootless", "limits_memory"]

_PREFERRED = ("podman", "docker")
_PATIENCE_S = 30.0


def engine_argv(engine: str, *words: str) -> list[str]:
    """The engine with its own warnings off, so that a log holds the command's words only."""
    return [engine, "--log-level=error", *words]


def find_engine(wanted: str) -> str:
    """The engine to use: one that answers, not one that is merely installed.

    Args:
        wanted: ``auto`` for podman, then docker; or a name or path that must answer.

    Raises:
        HostError: ``no-container-engine``, with what each one said.
    """
    refusals = []
    for engine in _PREFERRED if wanted == "auto" else (wanted,):
        try:
            capture(engine_argv(engine, "info"), timeout_s=_PATIENCE_S)
        except HostError as error:
            last_words = error.evidence[-1:] or error.why[:1]
            refusals.append(f"{engine}: {' '.join((error.reference, *last_words))}")
        else:
            return engine
    raise HostError(
        "no-container-engine",
        "this machine has no container engine that answers",
        why=(*refusals, "wanted: one that answers `info`"),
        fix="Install podman (apt-get install podman, dnf install podman), or set machine.engine to rootfs.",
    )


def is_rootless(docker: str) -> bool:
    """Whether docker's root is an ordinary user of the machine; podman maps users by itself.

    Raises:
        HostError: ``query-failed``.
    """
    query = engine_argv(docker, "info", "--format", "{{.SecurityOptions}}")
    return "rootless" in capture(query, timeout_s=_PATIENCE_S)


def limits_memory(engine: str) -> bool:
    """Whether the engine can limit a container's memory.

    One of an ordinary user often cannot, and podman then says nothing and runs without a limit.

    Raises:
        HostError: ``query-failed``.
    """
    if PurePath(engine).name == "podman":
        controllers = capture(engine_argv(engine, "info", "--format", "{{.Host.CgroupControllers}}"))
        return "memory" in controllers.strip("[] \n").split()
    return capture(engine_argv(engine, "info", "--format", "{{.MemoryLimit}}")).strip() == "true"
