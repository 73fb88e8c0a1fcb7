"""A look at this machine: every probe at once, each with a time limit; nothing is written."""

from __future__ import annotations

import itertools
import os
import platform
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.host_compilers import (
    COMPILERS,
    compiler_blanks,
    compilers_of,
    list_of_builds,
    look_at_compiler,
)
from torchbuild.edges.host_disks import disk_blank, look_at_disk
from torchbuild.edges.host_driver import Driver, driver_of
from torchbuild.edges.host_engines import ENGINES, engine_blank, look_at_engine, look_at_namespaces
from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_limits import Memory, cores_of, limits_of, memory_of
from torchbuild.edges.host_nvccs import look_at_nvcc, nvcc_blank, nvcc_places, told_places
from torchbuild.edges.host_programs import LISTED_WITHIN_S, list_programs
from torchbuild.edges.host_pythons import PYTHONS, look_at_python, python_blank, pythons_of
from torchbuild.edges.host_system import System, git_version, glibc_version, newest_file, system_of
from torchbuild.edges.host_variables import foreign_logs, misleading, proxies_of
from torchbuild.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_programs import Programs
    from torchbuild.model.host import Engine

__all__ = ["PATIENCE_S", "look_at_host"]

PATIENCE_S = 10.0
"""What a look may take where something hangs; without that it takes less than a second."""

_NO_LOGS: tuple[str, ...] = ()
_OTHERS = r"nvcc|podman|docker|apptainer|singularity|git"


def look_at_host(
    places: Mapping[str, Path],
    *,
    python: str = "",
    nvcc: str = "",
    compilers: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
    patience_s: float = PATIENCE_S,
    root: Path = Path("/"),
) -> Host:
    """All that can be seen of this machine. Never raises for what it finds, or does not.

    Args:
        places: role to directory, each of ``store``, ``builds``, ``out``; they need not exist yet. ``temp``
            is added where it is not among them: ``TMPDIR`` or ``/tmp``.
        python: the interpreter that the recipe names, a full path, a name or a version; empty for none.
        nvcc: full path of the device compiler that the recipe names; empty for none.
        compilers: host compilers that the recipe names, each a full path or a name.
        environ: the variables to look at; None for this process's own.
        patience_s: seconds after which what has not answered is left out and told of in `Host.unseen`.
        root: where the system's own files lie, ``/proc`` among them.
    """
    variables = dict(os.environ if environ is None else environ)
    with Glances(patience_s) as glances:
        files = HostFiles(root)
        on_disk = _OnDisk(glances, files, variables, places)
        programs = list_programs(variables.get("PATH", ""), f"{_OTHERS}|{COMPILERS}|{PYTHONS}", glances)
        started = _Started(glances, files, variables, programs, _Named(python, nvcc, compilers))
        seen = {**_at_hand(variables), **on_disk.seen(), **started.seen()}
        engines = (*started.engines(), on_disk.rootfs())
        return Host.model_validate({**seen, "engines": engines, "unseen": glances.noted()})


def _at_hand(environ: Mapping[str, str]) -> dict[str, object]:
    """What needs no file that could hang."""
    return {
        "machine": platform.machine(),
        "kernel": platform.release(),
        "glibc": glibc_version(),
        "clock": time.time(),
        "proxies": proxies_of(environ),
        "variables": misleading(environ),
        "limits": limits_of(),
    }


class _Named(NamedTuple):
    """What the recipe names."""

    python: str
    nvcc: str
    compilers: tuple[str, ...]


class _OnDisk:
    """Looks that need no program of PATH, begun at once."""

    def __init__(
        self, glances: Glances, files: HostFiles, environ: Mapping[str, str], places: Mapping[str, Path]
    ) -> None:
        machine, begin = platform.machine(), glances.begin
        self._namespaces = begin(
            "namespaces", partial(look_at_namespaces, environ, glances), engine_blank("rootfs")
        )
        self._driver = begin("driver", partial(driver_of, files, environ, machine, glances), Driver())
        self._system = begin("system", partial(system_of, files), System())
        self._memory = begin("memory", partial(memory_of, files), Memory())
        self._cores = begin("cores", partial(cores_of, files), len(os.sched_getaffinity(0)))
        self._logs = begin("installer logs", partial(foreign_logs, files, os.geteuid()), _NO_LOGS)
        self._newest = begin("newest file", partial(newest_file, files), 0.0)
        temp = Path(environ.get("TMPDIR") or "/tmp")  # noqa: S108  the machine's own choice
        self._disks = [
            begin(f"disk of {role}", partial(look_at_disk, role, place), disk_blank(role, place))
            for role, place in {"temp": temp, **places}.items()
        ]

    def rootfs(self) -> Engine:
        """Namespaces without an engine."""
        return self._namespaces.result()

    def seen(self) -> dict[str, object]:
        """Fields of `Host`."""
        memory = self._memory.result()
        return {
            **self._system.result()._asdict(),
            **self._driver.result()._asdict(),
            "memory": memory.memory,
            "memory_limit": memory.limit,
            "memory_available": memory.available,
            "swap": memory.swap,
            "has_namespaces": self.rootfs().works,
            "disks": tuple(disk.result() for disk in self._disks),
            "cores": self._cores.result(),
            "installer_logs": self._logs.result(),
            "newest_file": self._newest.result(),
        }


class _Started:
    """Programs that PATH or a variable leads to, each asked in a thread of its own; the slowest first."""

    def __init__(
        self,
        glances: Glances,
        files: HostFiles,
        environ: Mapping[str, str],
        programs: Programs,
        named: _Named,
    ) -> None:
        begin, each = glances.begin, glances.each
        self._engines = each(
            "engine",
            ENGINES,
            lambda name: look_at_engine(name, programs, files, environ, glances),
            engine_blank,
        )
        self._interpreters = each(
            "interpreter",
            pythons_of(named.python, environ, programs),
            lambda named: look_at_python(named, environ, glances),
            python_blank,
        )
        self._compilers = each(
            "compiler",
            compilers_of(list_of_builds(files, named.compilers, glances), programs),
            lambda names: look_at_compiler(names, environ, glances),
            compiler_blanks,
        )
        self._git = begin("git", partial(git_version, programs.first("git"), environ, glances), "")
        told = told_places(environ, programs, named.nvcc)
        nvccs = begin("nvcc", partial(nvcc_places, files, environ, programs, named.nvcc), told)
        self._nvccs = each(
            "nvcc",
            nvccs.result(LISTED_WITHIN_S),
            lambda place: look_at_nvcc(place, environ, glances),
            nvcc_blank,
        )

    def engines(self) -> tuple[Engine, ...]:
        """In the order of `ENGINES`."""
        return tuple(engine.result() for engine in self._engines)

    def seen(self) -> dict[str, object]:
        """Fields of `Host`."""
        return {
            "nvccs": tuple(nvcc.result() for nvcc in self._nvccs),
            "compilers": tuple(itertools.chain(*(compiler.result() for compiler in self._compilers))),
            "interpreters": tuple(python.result() for python in self._interpreters),
            "git": self._git.result(),
        }
