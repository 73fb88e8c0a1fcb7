"""A build without a network has none, whatever the executor believes."""

from __future__ import annotations

import pytest

from torchbuild.edges.isolation import require_isolated
from torchbuild.errors import HostError

HEADER = "Inter-|   Receive\n face |bytes    packets\n"


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param("    lo:       0       0\n", id="loopback only"),
        pytest.param("    lo: 0\n tunl0: 0\n  sit0: 0\n", id="a kernel with tunnel modules"),
    ],
)
def test_no_way_out_passes(devices: str) -> None:
    """Loopback, and what a kernel puts into every namespace, is no network."""
    require_isolated(HEADER + devices, "podman")


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param("    lo: 0\n  eth0: 12 3\n", id="a card"),
        pytest.param("    lo: 0\nwg0: 12 3\n", id="a tunnel with a peer"),
        pytest.param("", id="nothing that can be read"),
    ],
)
def test_a_way_out_is_refused(devices: str) -> None:
    """A device that may lead out stops the build before its first command."""
    with pytest.raises(HostError) as caught:
        require_isolated(HEADER + devices, "podman")
    assert caught.value.reference == "network-not-isolated"


def test_the_device_is_named() -> None:
    """Who mends the machine is told which device was there."""
    with pytest.raises(HostError) as caught:
        require_isolated(f"{HEADER}    lo: 0\n  eth0: 1\n", "podman")
    assert "eth0" in caught.value.why[0]
