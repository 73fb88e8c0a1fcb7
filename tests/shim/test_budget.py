"""How much memory is left, from the kernel's files as they are in either version of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.shim.budget import Budget, Room

MIB = 1 << 20
MEMINFO = "MemTotal: 8388608 kB\nMemFree: 100 kB\nMemAvailable: 4194304 kB\n"
V1 = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def machine(root: Path, mounts: str, cgroup: str, files: dict[str, str]) -> Budget:
    """The kernel's files below a folder."""
    told = {"proc/meminfo": MEMINFO, "proc/self/mountinfo": mounts, "proc/self/cgroup": cgroup}
    for name, text in (told | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Budget(str(root))


def test_without_groups_it_is_the_machines(tmp_path: Path) -> None:
    """What the kernel can give, less a reserve."""
    room = machine(tmp_path, "", "0::/\n", {}).room()

    assert room == Room(8 << 30, 4 << 30)
    assert 0.05 < room.reserve / room.total < 0.15


def test_a_group_of_the_first_version(tmp_path: Path) -> None:
    """Anonymous memory counts, page cache does not: the kernel gives that back."""
    group = "sys/fs/cgroup/memory/box"
    files = {
        f"{group}/memory.limit_in_bytes": f"{512 * MIB}\n",
        f"{group}/memory.usage_in_bytes": f"{510 * MIB}\n",
        f"{group}/memory.stat": f"cache {400 * MIB}\ntotal_rss {100 * MIB}\ntotal_shmem {10 * MIB}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }

    room = machine(tmp_path, V1, "4:memory:/box\n", files).room()

    assert room == Room(512 * MIB, 402 * MIB)


def test_a_group_of_the_second_version(tmp_path: Path) -> None:
    """The smaller of its two limits counts, and of all groups above it the one that leaves least."""
    files = {
        "sys/fs/cgroup/a/memory.max": f"{1024 * MIB}\n",
        "sys/fs/cgroup/a/memory.stat": f"anon {1000 * MIB}\nfile {500 * MIB}\n",
        "sys/fs/cgroup/a/b/memory.max": "max\n",
        "sys/fs/cgroup/a/b/memory.high": f"{768 * MIB}\n",
        "sys/fs/cgroup/a/b/memory.stat": f"anon {100 * MIB}\nslab_unreclaimable {8 * MIB}\n",
    }

    room = machine(tmp_path, V2, "0::/a/b\n", files).room()

    assert room == Room(768 * MIB, 24 * MIB)


@pytest.mark.parametrize("path", ["/../..", "/libpod/1234", "/"])
def test_a_container_sees_its_own_group_alone(tmp_path: Path, path: str) -> None:
    """Where the path leads nowhere, what is mounted is the container's group."""
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{256 * MIB}\n",
        "sys/fs/cgroup/memory/memory.stat": f"rss {56 * MIB}\n",
    }

    assert machine(tmp_path, V1, f"4:memory:{path}\n", files).room() == Room(256 * MIB, 200 * MIB)


def test_a_group_that_is_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    """Less than nothing is nothing."""
    files = {
        "sys/fs/cgroup/memory.max": "100\n",
        "sys/fs/cgroup/memory.stat": "anon 200\n",
    }

    assert machine(tmp_path, V2, "0::/\n", files).room().available == 0


def test_files_that_are_not_there_limit_nothing(tmp_path: Path) -> None:
    """An unreadable /sys is no reason to stop a build."""
    assert Budget(str(tmp_path)).room() == Room(0, 0)
    assert machine(tmp_path, V1 + V2 + "x\n", "nonsense\n4:memory:/gone\n", {}).room().total == 8 << 30


def test_this_machine_has_memory() -> None:
    """As it is here."""
    room = Budget().room()

    assert 0 < room.available <= room.total


def test_a_limit_that_is_set_while_we_run_counts(tmp_path: Path) -> None:
    """A scheduler may limit a job that runs, and change its limit, and take it away again."""
    limit = tmp_path / "sys/fs/cgroup/memory.max"
    told = machine(tmp_path, V2, "0::/\n", {"sys/fs/cgroup/memory.max": "max\n"})
    assert told.room() == Room(8 << 30, 4 << 30)
    assert told.limit() is None

    limit.write_text(f"{300 * MIB}\n", encoding="utf-8")
    assert told.room() == Room(300 * MIB, 300 * MIB)
    limit.write_text(f"{200 * MIB}\n", encoding="utf-8")
    assert told.limit() == 200 * MIB
    limit.unlink()
    assert told.room() == Room(8 << 30, 4 << 30)


@pytest.mark.parametrize(
    ("mounts", "own", "limit", "used"),
    [
        (V1, "4:memory:/\n", "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
        (V2, "0::/\n", "memory.max", "memory.current"),
    ],
)
def test_where_nothing_tells_what_can_be_given_back_all_counts(
    tmp_path: Path, mounts: str, own: str, limit: str, used: str
) -> None:
    """A group whose statistics cannot be read is not taken for an empty one."""
    files = {f"sys/fs/cgroup/{limit}": f"{300 * MIB}\n", f"sys/fs/cgroup/{used}": f"{100 * MIB}\n"}

    assert machine(tmp_path, mounts, own, files).room() == Room(300 * MIB, 200 * MIB)


def test_a_group_of_the_first_version_tells_of_those_above_it(tmp_path: Path) -> None:
    """A container that sees its own group alone may be in one that is smaller: a pod."""
    group = "sys/fs/cgroup/memory"
    files = {
        f"{group}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{group}/memory.stat": f"total_rss {50 * MIB}\nhierarchical_memory_limit {250 * MIB}\n",
    }

    assert machine(tmp_path, V1, "4:memory:/\n", files).room() == Room(250 * MIB, 200 * MIB)


def test_swap_is_no_memory(tmp_path: Path) -> None:
    """What lies in swap is slow: what a group holds there makes no room, and what it may put there is none."""
    files = {
        "sys/fs/cgroup/memory.max": f"{300 * MIB}\n",
        "sys/fs/cgroup/memory.swap.max": "max\n",
        "sys/fs/cgroup/memory.swap.current": f"{900 * MIB}\n",
        "sys/fs/cgroup/memory.stat": f"anon {290 * MIB}\nfile {9 * MIB}\n",
    }

    assert machine(tmp_path, V2, "0::/\n", files).room() == Room(300 * MIB, 10 * MIB)


def test_what_a_strict_kernel_has_promised_is_gone(tmp_path: Path) -> None:
    """Where no more is promised than there is, compilers are refused memory long before it is used."""
    told = machine(tmp_path, "", "0::/\n", {"proc/sys/vm/overcommit_memory": "2\n"})
    text = MEMINFO + "CommitLimit: 5242880 kB\nCommitted_AS: 4194304 kB\n"
    (tmp_path / "proc/meminfo").write_text(text, encoding="utf-8")

    assert told.room().available == 1 << 30
