"""Write knowledge/data/cuda_wheels.toml from the Python index. --check: is it what the index says?

The meta package ``cuda-toolkit`` names the wheels of each release. Its extra ``nvcc`` did not always bring
the halves of the compiler (nvvm, crt) with it: here every part is pinned, and each pin is one that both
processor families have. Needs the network; nothing else in the repository runs it.
"""

# ruff: noqa: INP001  a script of the repository

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from index_table import DATA, ask_pip, keep_table, releases
from packaging.requirements import Requirement
from packaging.version import Version

__all__ = ["exact", "main", "pins", "table", "wanted"]

META = "cuda-toolkit"
FIRST = 13
"""The first major release whose wheels bring nvcc."""
TABLE = DATA / "cuda_wheels.toml"
MACHINES = ("aarch64", "x86_64")
PARTS = (
    "nvidia-cublas",
    "nvidia-cuda-cccl",
    "nvidia-cuda-crt",
    "nvidia-cuda-culibos",
    "nvidia-cuda-cuobjdump",
    "nvidia-cuda-cupti",
    "nvidia-cuda-nvcc",
    "nvidia-cuda-nvdisasm",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-profiler-api",
    "nvidia-cuda-runtime",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-curand",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-nvfatbin",
    "nvidia-nvjitlink",
    "nvidia-nvml-dev",
    "nvidia-nvtx",
    "nvidia-nvvm",
)
"""What a build of torch takes; a release that lacks one simply has no such wheel."""


def main() -> int:
    """Exit code 0 where the table is what the index says; with ``--check`` nothing is written."""
    return keep_table(__doc__ or "", TABLE, "[[release]]", _rows)


def _rows() -> str:
    return "".join(table(version, _parts(version)) for version in _releases())


def wanted(requires: list[str], machine: str) -> dict[str, Requirement]:
    """Of a meta package's requirements, ours by name, for one processor family."""
    found = {}
    for line in requires:
        item = Requirement(line)
        place = {"extra": "all", "sys_platform": "linux", "platform_machine": machine}
        if item.name in PARTS and (item.marker is None or item.marker.evaluate(place)):
            found[item.name] = item
    return found


def exact(item: Requirement) -> str:
    """The requirement, narrowed to the release itself where the meta package leaves newer ones open."""
    lower = [part for part in item.specifier if part.operator == ">="]
    return f"{item.name}=={lower[0].version}" if lower else f"{item.name}{item.specifier}"


def pins(report: dict[str, Any]) -> dict[str, str]:
    """Name and version of all that pip would install, sorted."""
    found = (item["metadata"] for item in report["install"])
    return dict(sorted((item["name"].lower(), item["version"]) for item in found))


def table(meta: str, parts: dict[str, str]) -> str:
    """One row. `meta` is the meta package's own version, which may have a fourth number."""
    release = Version(meta).release
    wheels = "\n".join(f'{name} = "{version}"' for name, version in parts.items())
    return f"""[[release]]
version = "{".".join(str(number) for number in release[:3])}"
folder = "nvidia/cu{release[0]}"
machines = {json.dumps(MACHINES)}
source = "Requires-Dist of {META} {meta} on the Python index, each pin found there for both machines"
checked = "{datetime.now(UTC).date()}"

[release.wheels]
{wheels}

"""


def _releases() -> Iterator[str]:
    """Versions of the meta package whose wheels bring nvcc, oldest first."""
    known = releases(ask_pip("index", "versions", META))
    yield from (text for text in known if Version(text).major >= FIRST)


def _parts(meta: str) -> dict[str, str]:
    """What the release's wheels are, the same for all machines.

    Raises:
        SystemExit: they differ, or one of the compiler's halves is not its own.
    """
    report = json.loads(ask_pip(*_DRY, f"{META}=={meta}"))
    requires = report["install"][0]["metadata"]["requires_dist"]
    found = {machine: _found(wanted(requires, machine), machine) for machine in MACHINES}
    first, *others = found.values()
    if any(other != first for other in others):
        raise SystemExit(f"{META} {meta} is not the same everywhere: {found}")
    return first


def _found(parts: dict[str, Requirement], machine: str) -> dict[str, str]:
    tags = [f"--platform=manylinux_2_{minor}_{machine}" for minor in range(39, 4, -1)]
    tags += [f"--platform=manylinux{year}_{machine}" for year in ("2014", "2010", "1")]
    only = ("--only-binary=:all:", "--target=/nonexistent", *tags)
    return pins(json.loads(ask_pip(*_DRY, *only, *(exact(item) for item in parts.values()))))


_DRY = ("install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report=-")


if __name__ == "__main__":
    sys.exit(main())
