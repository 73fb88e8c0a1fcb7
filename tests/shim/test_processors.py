"""How many processors there are, from the kernel's files as they are in either version of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.shim.processors import processors

MOUNTS = {
    "1": "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
    "2": "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
}
OWN = {"1": "4:cpu:/a\n", "2": "0::/a\n"}
HERE = len(os.sched_getaffinity(0))


def machine(root: Path, version: str, files: dict[str, str]) -> int:
    """What is told where these files lie."""
    told = {"proc/self/mountinfo": MOUNTS[version], "proc/self/cgroup": OWN[version]}
    for name, text in (told | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return processors(str(root))


@pytest.mark.parametrize(
    ("version", "files", "wanted"),
    [
        ("1", {"cpu/a/cpu.cfs_quota_us": "50000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 1),
        ("1", {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, HERE),
        ("2", {"a/cpu.max": "100000 100000\n"}, 1),
        ("2", {"a/cpu.max": "max 100000\n", "cpu.max": "20000 100000\n"}, 1),
        ("2", {"a/cpu.max": "900000000 100000\n"}, HERE),
        ("2", {"a/cpu.max": "nonsense\n"}, HERE),
        ("2", {}, HERE),
    ],
)
def test_a_quota_is_a_number_of_processors(
    tmp_path: Path, version: str, files: dict[str, str], wanted: int
) -> None:
    """A container of two processors on a machine of sixty-four starts two jobs, not sixty-four."""
    assert (
        machine(tmp_path, version, {f"sys/fs/cgroup/{name}": text for name, text in files.items()}) == wanted
    )


def test_this_machine_has_some() -> None:
    """As it is here."""
    assert 1 <= processors() <= HERE
