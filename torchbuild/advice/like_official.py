"""What is known of a wheel that upstream publishes, where the wheel itself cannot be had."""

from __future__ import annotations

import re

from torchbuild.knowledge.torch_releases import OfficialBuild, official_builds
from torchbuild.model.likeness import LikeLibrary, Likeness, Read, Unread

__all__ = ["official_likeness", "official_names"]

_CUDA_LABEL = re.compile(r"cu([1-9][0-9])([0-9])")
_CPU_LABEL = "cpu"
_LIBRARIES = ("cudnn", "nccl", "cusparselt", "nvshmem")
_PARTS = 2


def official_likeness(version: str, local: str, machine: str, why: str) -> Likeness | None:
    """A likeness out of the facts; None where nobody knows such a wheel.

    Args:
        version: such as ``2.6.0``.
        local: such as ``cu124`` or ``cpu``; empty for the index's own wheel, of which the facts say nothing.
        machine: ``x86_64`` or ``aarch64``.
        why: why the wheel itself could not be read: one clause.
    """
    cuda = _cuda(local)
    minor = ".".join(version.split(".")[:_PARTS])
    row = next((item for item in official_builds(minor, machine) if item.cuda == cuda), None)
    if row is None or cuda is None:
        return None
    where = f"official_builds.toml {row.torch} {row.machine} {row.cuda or 'cpu'}, {row.checked}"
    return Likeness(
        subject=f"torch=={version}+{local}",
        version=Read(value=version, where="what was asked for"),
        local=Read(value=local, where="what was asked for"),
        machine=Read(value=machine, where="what was asked for"),
        glibc=Read(value=row.glibc, where=where if row.glibc else ""),
        cuda=Read(value=row.cuda, where=where if row.cuda else ""),
        is_cpu=not row.cuda,
        archs=row.archs,
        archs_where=where if row.archs else "",
        libraries=_libraries(row, where),
        unread=(
            Unread(what="the wheel itself", why=why),
            Unread(what="config.show()", why="only the wheel has it"),
            *_unknown(row),
        ),
    )


def official_names(version: str, machine: str) -> tuple[str, ...]:
    """Builds of a release of which the facts know anything, as ``--like`` takes them."""
    builds = official_builds(version, machine)
    return tuple(f"torch=={version}+{_label(row)}" for row in builds)


def _label(build: OfficialBuild) -> str:
    """As upstream labels its wheels."""
    return "cu" + build.cuda.replace(".", "") if build.cuda else _CPU_LABEL


def _unknown(row: OfficialBuild) -> tuple[Unread, ...]:
    if row.archs or not row.cuda:
        return ()
    return (Unread(what="GPU architectures", why="nobody knows them"),)


def _cuda(local: str) -> str | None:
    """The minor release of CUDA that a label stands for, empty for the CPU; None for another label."""
    if local == _CPU_LABEL:
        return ""
    found = _CUDA_LABEL.fullmatch(local)
    return f"{found[1]}.{found[2]}" if found else None


def _libraries(row: OfficialBuild, where: str) -> tuple[LikeLibrary, ...]:
    found = ((name, getattr(row, name)) for name in _LIBRARIES)
    return tuple(
        LikeLibrary(name=name, state="shared", version=release, where=where)
        for name, release in found
        if release
    )
