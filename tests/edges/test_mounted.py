"""What executors with the build's directories at the fixed path share; the rest is in tests/contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.isolation import NETWORK_QUERY
from torchbuild.edges.mounted import MountedExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command

ALONE = """Inter-|   Receive
 face |bytes
    lo: 0 0
"""
WIRED = ALONE + "  eth0: 1 1\n"


class Looking(MountedExecutor):
    """One that only looks at its network."""

    name = "looking"
    devices = ALONE

    def __init__(self, top: Path) -> None:
        """Three fresh directories."""
        super().__init__(root=top / "root", store=top / "store", cache=top / "cache")
        self.asked: list[Command] = []

    def before(self, network: str) -> None:
        """What a run begins with."""
        self._assert_isolation(Command.model_validate({"argv": ("/bin/true",), "network": network}))

    def _devices(self, query: Command) -> str:
        self.asked.append(query)
        return self.devices


def test_directories_are_made(tmp_path: Path) -> None:
    """A first build needs no preparation."""
    Looking(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "root", "store"]


def test_isolation_is_looked_at_once(tmp_path: Path) -> None:
    """Before the first command that may have no network, from inside, and not before each."""
    executor = Looking(tmp_path)
    executor.before("host")
    assert executor.asked == []
    executor.before("none")
    executor.before("none")

    assert [query.argv for query in executor.asked] == [NETWORK_QUERY]


def test_a_network_that_is_there_stops_every_command(tmp_path: Path) -> None:
    """The second command is stopped as the first was."""
    executor = Looking(tmp_path)
    executor.devices = WIRED
    for _ in range(2):
        with pytest.raises(HostError) as caught:
            executor.before("none")
        assert caught.value.reference == "network-not-isolated"
