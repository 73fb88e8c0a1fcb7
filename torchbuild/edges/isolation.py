"""Whether there is a network, asked from inside: what was requested of an engine is not yet so."""

from __future__ import annotations

from torchbuild.errors import HostError

__all__ = ["NETWORK_QUERY", "require_isolated"]

NETWORK_QUERY = ("/bin/cat", "/proc/net/dev")
"""What to run inside; its output goes to `require_isolated`."""

_FALLBACK_TUNNELS = frozenset(
    {"erspan0", "gre0", "gretap0", "ip6_vti0", "ip6gre0", "ip6tnl0", "ip_vti0", "sit0", "tunl0"}
)
"""What a kernel with tunnel modules puts into every new network namespace: down, and without a peer."""


def require_isolated(devices: str, executor: str) -> None:
    """Make sure that `devices`, the text of ``/proc/net/dev``, shows no way out.

    Raises:
        HostError: ``network-not-isolated``.
    """
    names = [line.partition(":")[0].strip() for line in devices.splitlines() if ":" in line]
    others = sorted(set(names) - {"lo"} - _FALLBACK_TUNNELS)
    if "lo" in names and not others:
        return
    raise HostError(
        "network-not-isolated",
        f"{executor}: a command without a network would have one",
        why=(f"seen: network devices {', '.join(others or names) or 'unreadable'}", "wanted: only lo"),
        fix=f"Check how {executor} sets up networks; builds run only where nothing can be fetched.",
    )
