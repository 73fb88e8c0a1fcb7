"""Which container engine answers, and how it is asked."""

from __future__ import annotations

import json

from torchbuild.edges.process import capture
from torchbuild.errors import HostError

__all__ = ["can_limit", "engine_argv", "find_engine", "is_rootless"]

_PREFERRED = ("podman", "docker")
_PATIENCE_S = 30.0
_OF_DOCKER = {"memory": "MemoryLimit", "cpu": "CPUCfsQuota"}


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
        HostError: ``query-failed``, ``engine-answer-unreadable``.
    """
    try:
        told = json.loads(capture(engine_argv(engine, "info", "--format", "{{json .}}")))
        host = told.get("host")  # podman's, also where it is called docker
        if host is None:
            return frozenset(name for name, key in _OF_DOCKER.items() if told.get(key) is True)
        if host["security"]["rootless"] and host["cgroupManager"] == "cgroupfs":
            return frozenset()
        return frozenset(host["cgroupControllers"] or ()) & {"memory", "cpu"}
    except (ValueError, AttributeError, LookupError, TypeError) as error:
        raise HostError(
            "engine-answer-unreadable",
            f"{engine}: what it tells of itself is not understood",
            why=(f"seen: {error!r}", "wanted: the JSON of `info`"),
            fix=f"Look at `{engine} info`; name another engine in machine.engine.",
        ) from error
