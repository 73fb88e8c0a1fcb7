"""Where the control groups of this process are, whichever version of the interface is mounted.

For scripts of a build and for ourselves alike: what a build may take and what doctor says of it is one thing.
"""

from typing import Iterator, List, Tuple

__all__ = ["group_chains", "group_folders"]

_PARTS = 5
"""A line of mountinfo has at least so many words before its dash."""


def group_chains(cgroup: str, mountinfo: str, controller: str) -> List[Tuple[List[str], bool]]:
    """For each place where a controller is mounted, our group and all above it, ours first.

    Args:
        cgroup: text of ``/proc/self/cgroup``.
        mountinfo: text of ``/proc/self/mountinfo``.
        controller: ``memory`` or ``cpu``.

    Returns:
        Directories that should be there, and whether the interface is version 1's.
    """
    own = list(dict.fromkeys(_own_paths(cgroup, controller)))
    found = []
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        words, kinds = fields.split(" "), rest.split(" ")
        is_first = kinds[0] == "cgroup" and controller in kinds[-1].split(",")
        if len(words) < _PARTS or not (is_first or kinds[0] == "cgroup2"):
            continue
        found += [(_upwards(words[4], words[3], path), is_first) for path, first in own if first == is_first]
    return found


def group_folders(cgroup: str, mountinfo: str, controller: str) -> List[Tuple[str, bool]]:
    """All directories of these chains, each once, with whether the interface in it is version 1's."""
    chains = group_chains(cgroup, mountinfo, controller)
    return list(dict.fromkeys((folder, is_first) for folders, is_first in chains for folder in folders))


def _own_paths(cgroup: str, controller: str) -> Iterator[Tuple[str, bool]]:
    for line in cgroup.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            yield path, True
        elif not controllers and path:
            yield path, False


def _upwards(point: str, root: str, path: str) -> List[str]:
    """From our group up to the mount; one that shows another part of the tree shows its own root alone."""
    prefix = root.rstrip("/")
    below = path[len(prefix) :] if (path + "/").startswith(prefix + "/") else ""
    words = [word for word in below.split("/") if word not in {"", "..", "."}]
    return ["/".join([point.rstrip("/"), *words[:end]]) for end in range(len(words), -1, -1)]
