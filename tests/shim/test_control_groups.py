"""Where the control groups of a process are."""

from __future__ import annotations

import pytest

from torchbuild.shim.control_groups import group_chains, group_folders

SECOND = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = (
    "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)
DOCKER_FIRST = "40 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"


@pytest.mark.parametrize(
    ("cgroup", "mounts", "controller", "folders"),
    [
        (
            "0::/user.slice/job\n",
            SECOND,
            "memory",
            (
                ("/sys/fs/cgroup/user.slice/job", False),
                ("/sys/fs/cgroup/user.slice", False),
                ("/sys/fs/cgroup", False),
            ),
        ),
        ("0::/\n", SECOND, "cpu", (("/sys/fs/cgroup", False),)),
        ("0::/../../x\n", SECOND, "cpu", (("/sys/fs/cgroup/x", False), ("/sys/fs/cgroup", False))),
        (
            "4:memory:/job\n3:cpuacct,cpu:/job\n0::/\n",
            FIRST,
            "cpu",
            (("/sys/fs/cgroup/cpu,cpuacct/job", True), ("/sys/fs/cgroup/cpu,cpuacct", True)),
        ),
        ("4:memory:/docker/abc\n", DOCKER_FIRST, "memory", (("/sys/fs/cgroup/memory", True),)),
        ("4:memory:/elsewhere\n", DOCKER_FIRST, "memory", (("/sys/fs/cgroup/memory", True),)),
        ("", SECOND, "memory", ()),
        ("0::/x\n", "", "memory", ()),
    ],
    ids=["nested", "own root", "outside", "version 1", "docker", "another part", "no groups", "no mount"],
)
def test_groups_are_found_up_to_their_mount(
    cgroup: str, mounts: str, controller: str, folders: tuple[tuple[str, bool], ...]
) -> None:
    """Both versions of the kernel's interface, in containers too."""
    assert tuple(group_folders(cgroup, mounts, controller)) == folders


def test_our_own_group_is_the_first_of_its_chain() -> None:
    """Who makes a group below ours never takes one above it."""
    chains = group_chains("4:memory:/job/a\n0::/x\n", FIRST + SECOND, "memory")

    assert [(folders[0], is_first) for folders, is_first in chains] == [
        ("/sys/fs/cgroup/memory/job/a", True),
        ("/sys/fs/cgroup/x", False),
    ]


@pytest.mark.parametrize("mounts", ["x", "1 2 - cgroup2 a b", " - \n", "30 23 0:26 / /p rw - cgroup\n", "\0"])
def test_what_is_no_mount_is_passed_over(mounts: str) -> None:
    """The kernel writes lines of one form; anything else leads nowhere."""
    assert group_folders("0::/x\n", mounts, "memory") == []
