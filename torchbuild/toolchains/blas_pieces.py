"""BLAS and OpenMP alike: wheels that hold a part below their data, and what the builder has."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import normpath

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion

from torchbuild.errors import ConflictError
from torchbuild.knowledge.blas_facts import BlasWheel
from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece, PartName, prefix_of
from torchbuild.model.recipe_toolchain import Blas, Openmp

__all__ = ["builder_part", "requirements", "wheels_part"]

_USUAL = "/usr"
"""Where a distribution puts what it has."""


def requirements(rows: Sequence[BlasWheel], version: str | None) -> tuple[str, ...]:
    """What is asked of the index; without a version the newest, which the lock then pins by digest."""
    return tuple(f"{row.distribution}=={version}" if version else row.distribution for row in rows)


def builder_part(name: PartName, table: Blas | Openmp | None, says: dict[str, str]) -> LockedPart:
    """What the builder has: where it is, and what it must be. Without a table it is the distribution's."""
    path = table.path if table is not None and table.source == "path" else None
    return LockedPart(
        name=name,
        provider=table.source if table is not None else "system",
        version=(table.version if table is not None else None) or "",
        prefix=normpath(path or _USUAL),
        says=says,
    )


def wheels_part(
    name: PartName,
    rows: Sequence[BlasWheel],
    wheels: Sequence[Artifact],
    version: str | None,
    says: dict[str, str],
) -> LockedPart:
    """What wheels bring, in a prefix of our own.

    Raises:
        ConflictError: ``blas-wheel-unexpected``, ``blas-wheels-differ``.
    """
    found, pieces = _pieces(rows, wheels, version)
    return LockedPart(
        name=name, provider="wheels", version=found, prefix=prefix_of(name), pieces=pieces, says=says
    )


def _pieces(
    rows: Sequence[BlasWheel], wheels: Sequence[Artifact], version: str | None
) -> tuple[str, tuple[LockedPiece, ...]]:
    """The one version of all wheels, and their pieces in the order of the rows.

    Raises:
        ConflictError: ``blas-wheel-unexpected``, ``blas-wheels-differ``.
    """
    seen = {row.distribution: _version(row, wheel) for row, wheel in zip(rows, wheels, strict=True)}
    if len(set(seen.values())) > 1:
        raise ConflictError(
            "blas-wheels-differ",
            "wheels of one library are of different versions",
            why=tuple(f"seen {name} {found}" for name, found in seen.items()),
            fix=f"Name the version: {rows[0].part}.version = {min(seen.values())!r}.",
        )
    found = next(iter(seen.values()))
    if version and found != version:
        raise _unexpected(rows[0], wheels[0], f"{rows[0].distribution} {version}")
    pieces = (
        LockedPiece(artifact=wheel, only=f"{_stem(wheel)}.data/data/{row.folder}", to=row.folder)
        for row, wheel in zip(rows, wheels, strict=True)
    )
    return found, tuple(pieces)


def _stem(wheel: Artifact) -> str:
    """Name and version as the wheel writes them, which is how it calls its folders."""
    return "-".join(wheel.name.split("-")[:2])


def _version(row: BlasWheel, wheel: Artifact) -> str:
    try:
        name, version, _, _ = parse_wheel_filename(wheel.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise _unexpected(row, wheel, f"a wheel of {row.distribution}") from error
    if name != canonicalize_name(row.distribution):
        raise _unexpected(row, wheel, f"a wheel of {row.distribution}")
    return str(version)


def _unexpected(row: BlasWheel, wheel: Artifact, wanted: str) -> ConflictError:
    return ConflictError(
        "blas-wheel-unexpected",
        f"the index answered with another file than {row.distribution}",
        why=(f"seen {wheel.name[:120]}", f"wanted {wanted}", f"source: {row.source}"),
        fix=f"Name a version that the index has: {row.part}.version.",
    )
