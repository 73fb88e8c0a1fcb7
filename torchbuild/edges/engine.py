"""Which container engine answers, and how it is asked."""

from __future__ import annotations

from pathlib import PurePath

from torchbuild.edges.process import capture
from torchbuild.errors import HostError

__all__ = ["can_limit", "engine_argv", "find_engine", "is_rootless"]

_PREFERRED = ("podman", "docker")
_PATIENCE_S = 30.0
_PODMAN_LIMITS = "{{.Host.CgroupControllers}} {{.Host.CgroupManager}} {{.Host.Security.Rootless}}"


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


def can_limit(engine: str) -> frozenset[str]:
    """Which of ``memory`` and ``cpu`` the engine can limit for a container.

    One of an ordinary user often can limit neither; podman then takes the options and runs without a limit.
    On cgroup v2 that user's podman makes no control group either where it has no session of systemd to ask.

    Raises:
        HostError: ``query-failed``.
    """
    if PurePath(engine).name == "podman":
        controllers, _, rest = capture(engine_argv(engine, "info", "--format", _PODMAN_LIMITS)).partition("]")
        if rest.split() == ["cgroupfs", "true"]:
            return frozenset()
        return frozenset(controllers.strip("[ ").split()) & {"memory", "cpu"}
    answers = capture(engine_argv(engine, "info", "--format", "{{.MemoryLimit}} {{.CPUCfsQuota}}")).split()
    return frozenset(
        name for name, answer in zip(("memory", "cpu"), answers, strict=False) if answer == "true"
    )
