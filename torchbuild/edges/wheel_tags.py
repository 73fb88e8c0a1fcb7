"""The wheel tags that a target takes, whatever machine asks."""

from __future__ import annotations

from packaging.tags import Tag, compatible_tags, cpython_tags

from torchbuild.errors import RecipeError

__all__ = ["python_platform", "target_tags"]

_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
# What `uv pip compile --python-platform` knows, by the minor number of glibc 2.
_KNOWN_MINORS = (17, 28, *range(31, 41))
_OLDEST_MINOR = {"x86_64": 5, "aarch64": 17}


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
    minor = _minor(glibc)
    fitting = [known for known in _KNOWN_MINORS if known <= minor]
    if not fitting:
        raise RecipeError(
            "glibc-too-old",
            f"glibc {glibc}: no wheels are resolved for it",
            why=(f"wanted: 2.{_KNOWN_MINORS[0]} or newer",),
            fix=f'Write target.glibc = "2.{_KNOWN_MINORS[0]}" or newer.',
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
    for minor in range(newest, _OLDEST_MINOR.get(machine, 17) - 1, -1):
        platforms.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            platforms.append(f"{_LEGACY[minor]}_{machine}")
    return [*platforms, f"linux_{machine}"]
