"""The wheel tags that a target takes, whatever machine asks."""

from __future__ import annotations

from packaging.tags import Tag, compatible_tags, cpython_tags

from torchbuild.errors import RecipeError
from torchbuild.knowledge.platform_tags import legacy_tag, oldest_glibc, resolver_glibcs

__all__ = ["python_platform", "target_tags"]


def _minor(glibc: str) -> int:
    major, _, minor = glibc.partition(".")
    if major != "2" or not minor.isdecimal():
        raise RecipeError(
            "glibc-invalid",
            f"{glibc!r}: not a version of the GNU C library",
            why=("wanted: 2.N, such as 2.28",),
            fix='Write target.glibc = "2.28".',
        )
    return int(minor)


def python_platform(machine: str, glibc: str) -> str:
    """The newest platform that the resolver knows and that the target has.

    Raises:
        RecipeError: ``glibc-invalid``, ``glibc-too-old``.
    """
    minor, known = _minor(glibc), [_minor(release) for release in resolver_glibcs(machine)]
    fitting = [release for release in known if release <= minor]
    if not fitting:
        raise RecipeError(
            "glibc-too-old",
            f"glibc {glibc}: no wheels are resolved for it",
            why=(f"wanted: 2.{min(known)} or newer",),
            fix=f'Write target.glibc = "2.{min(known)}" or newer.',
        )
    return f"{machine}-manylinux_2_{max(fitting)}"


def target_tags(python_version: str, machine: str, glibc: str) -> dict[Tag, int]:
    """Each tag that CPython on the target installs -> its rank, 0 the best.

    Args:
        python_version: such as ``3.13``, ``3.13.5``; ``3.13t`` without the global lock.
        machine: ``x86_64`` or ``aarch64``.
        glibc: such as ``2.28``.

    Raises:
        RecipeError: ``glibc-invalid``.
    """
    major, minor = (int(part) for part in python_version.rstrip("t").split(".")[:2])
    abi = f"cp{major}{minor}{'t' if python_version.endswith('t') else ''}"
    platforms = _platforms(machine, _minor(glibc))
    tags = [
        *cpython_tags((major, minor), abis=[abi], platforms=platforms),
        *compatible_tags((major, minor), interpreter=f"cp{major}{minor}", platforms=platforms),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(tags)))}


def _platforms(machine: str, newest: int) -> list[str]:
    platforms = []
    for minor in range(newest, _minor(oldest_glibc(machine)) - 1, -1):
        platforms.append(f"manylinux_2_{minor}_{machine}")
        legacy = legacy_tag(f"2.{minor}")
        if legacy is not None:
            platforms.append(f"{legacy}_{machine}")
    return [*platforms, f"linux_{machine}"]
