"""The shared backend of a build's compiler cache: its secrets lie in the workspace while the build runs."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torchbuild.cli.secret_files import secret_file
from torchbuild.context import Reporter
from torchbuild.edges.relay import RelayTold, unreachable
from torchbuild.model.finding import Finding
from torchbuild.model.recipe import Machine
from torchbuild.report.events import Found
from torchbuild.resolve.cache_backend import CacheBackend, cache_backend
from torchbuild.resolve.distribution import reached
from torchbuild.shim.compiler_cache import REMOTE

__all__ = ["backed", "backend_of", "endpoints_of", "marks_of", "silence_told"]


def backend_of(machine: Machine, environ: Mapping[str, str]) -> CacheBackend | None:
    """What the recipe's machine table names; None for none.

    Raises:
        UsageError: ``cache-backend-invalid``.
    """
    return cache_backend(machine.cache_backend, environ) if machine.cache_backend else None


def endpoints_of(machine: Machine, backend: CacheBackend | None) -> tuple[str, ...]:
    """All that a build is let through to."""
    ours = (backend.endpoint,) if backend is not None else ()
    return tuple(dict.fromkeys((*reached(machine), *ours)))


def marks_of(machine: Machine, backend: CacheBackend | None) -> tuple[str, ...]:
    """The same as reports and provenance name it: a backend with its scheme, and nothing of its secrets."""
    return (*reached(machine), *((backend.public,) if backend is not None else ()))


def silence_told(reporter: Reporter) -> Callable[[str, str], None]:
    """Tells of an endpoint that does not answer: what it is for is then done without it."""

    def warn(endpoint: str, why: str) -> None:
        what = f"{endpoint} does not answer; the build goes on without it"
        finding = Finding(reference="endpoint-unreachable", outcome="warned", what=what, seen=why)
        reporter.emit(Found(stage="compile", finding=finding))

    return warn


@contextmanager
def backed(backend: CacheBackend | None, program: str, root: Path, told: RelayTold) -> Iterator[None]:
    """Lay what the cache is told where only we may read it, and take it away at the end.

    A server that takes no connection now is not used at all: each cache would try it for half a minute.

    Args:
        backend: the server; None for none.
        program: the cache, as locked; ``none`` for none.
        root: the directory that the build sees at the fixed path.
        told: hears of a server that does not answer.

    Raises:
        UsageError: ``cache-backend-invalid``.
        HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
    """
    place = root / REMOTE
    says: Mapping[str, str] = {}
    if backend is not None and program != "none":
        says = backend.told(posixpath.basename(program))
        why = unreachable(backend.host, backend.port)
        if why:
            told.failed(backend.endpoint, why)
            says = {}
    with secret_file(place, json.dumps(dict(says)) if says else ""):
        yield
