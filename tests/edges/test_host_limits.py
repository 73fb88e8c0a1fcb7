"""Memory and processors: the machine's, and what control groups leave of them."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_limits import (
    Memory,
    cores_of,
    limits_of,
    meminfo,
    memory_of,
    quota_told,
)

MEMINFO = (
    "MemTotal:  16000 kB\nMemFree: 10 kB\nMemAvailable:  8000 kB\nSwapFree: 100 kB\nHugePages_Total:  0\nx\n"
)
SECOND = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = (
    "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)
DOCKER_FIRST = "40 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
MIB = 1 << 20


def laid(root: Path, texts: dict[str, str]) -> HostFiles:
    """Files of a system."""
    for name, text in {"/proc/meminfo": MEMINFO, **texts}.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostFiles(root)


def test_the_table_of_memory_is_in_bytes() -> None:
    """What is no number is passed over."""
    assert meminfo(MEMINFO)["MemTotal"] == 16000 * 1024
    assert "x" not in meminfo(MEMINFO)


def test_without_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    """All that the kernel says is free."""
    assert memory_of(laid(tmp_path, {})) == Memory(16000 * 1024, None, 8000 * 1024, 100 * 1024)
    assert memory_of(HostFiles(tmp_path / "none")) == Memory()


def test_the_smallest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    """A job's limit is often its parent's; caches that the kernel gives back do not count as used."""
    files = laid(
        tmp_path,
        {
            "/proc/self/cgroup": "0::/slice/job\n",
            "/proc/self/mountinfo": SECOND,
            "/sys/fs/cgroup/slice/job/memory.max": "max\n",
            "/sys/fs/cgroup/slice/memory.max": f"{6 * MIB}\n",
            "/sys/fs/cgroup/slice/memory.high": f"{4 * MIB}\n",
            "/sys/fs/cgroup/slice/memory.stat": f"anon {MIB}\ninactive_file {2 * MIB}\n",
        },
    )
    seen = memory_of(files)

    assert (seen.limit, seen.available) == (4 * MIB, 3 * MIB)


def test_limits_of_version_1_are_read(tmp_path: Path) -> None:
    """Its huge number is no limit."""
    folder = "/sys/fs/cgroup/memory"
    texts = {
        "/proc/self/cgroup": "4:memory:/job\n",
        "/proc/self/mountinfo": FIRST,
        f"{folder}/memory.limit_in_bytes": "9223372036854771712\n",
    }
    assert memory_of(laid(tmp_path, texts)).limit is None

    texts |= {
        f"{folder}/job/memory.limit_in_bytes": f"{5 * MIB}\n",
        f"{folder}/job/memory.stat": f"total_rss {9 * MIB}\ntotal_inactive_file {1 * MIB}\n",
    }
    assert memory_of(laid(tmp_path, texts))[1:3] == (5 * MIB, 0)


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("150000 100000", 1.5),
        ("max 100000", None),
        ("-1 100000", None),
        ("100000 0", None),
        ("", None),
        ("5", None),
    ],
)
def test_a_share_of_time_is_a_number_of_processors(text: str, cores: float | None) -> None:
    """Both versions write two numbers, and both have a word for none."""
    assert quota_told(text) == cores


@pytest.mark.parametrize(
    ("texts", "mounts", "cgroup"),
    [
        ({"/sys/fs/cgroup/job/cpu.max": "50000 100000\n"}, SECOND, "0::/job\n"),
        (
            {
                "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
                "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            },
            FIRST,
            "3:cpu,cpuacct:/job\n",
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_half_a_processor_is_one(texts: dict[str, str], mounts: str, cgroup: str, tmp_path: Path) -> None:
    """Less than one cannot be used."""
    files = laid(tmp_path, {**texts, "/proc/self/mountinfo": mounts, "/proc/self/cgroup": cgroup})

    assert cores_of(files) == 1


def test_without_a_share_all_that_we_may_run_on_count(tmp_path: Path) -> None:
    """As the scheduler of a cluster sets it."""
    assert cores_of(HostFiles(tmp_path)) == len(os.sched_getaffinity(0))


def test_limits_of_this_process_are_told_where_they_are_set() -> None:
    """One without a number is none."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    assert limits_of().get("open files", resource.RLIM_INFINITY) == files
    assert all(number >= 0 for number in limits_of().values())
