"""Which Debian mirror this machine's apt uses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from torchbuild.errors import HostError
from torchbuild.model.debian_control import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["APT_DIRECTORY", "debian_mirror"]

APT_DIRECTORY = Path("/etc/apt")
"""Where apt is configured on every system that has it."""

_ONE_LINE = re.compile(r"deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)\s")


def debian_mirror(configured: str = "", apt: Path = APT_DIRECTORY) -> str:
    """Base of the mirror, the directory of ``dists`` and ``pool``, without a slash at the end.

    Args:
        configured: what [machine] says; it wins.
        apt: apt's configuration; the first enabled http(s) address ending in ``/debian`` is taken.

    Raises:
        HostError: ``no-debian-mirror``.
    """
    if configured:
        return configured.rstrip("/")
    for address in _addresses(apt):
        parts = urlsplit(address)
        if parts.scheme in {"http", "https"} and parts.path.rstrip("/").endswith("/debian"):
            return address.rstrip("/")
    raise HostError(
        "no-debian-mirror",
        "nothing says where a Debian mirror is",
        why=(
            "seen: no [machine] debian_mirror",
            f"seen: no http(s) address ending in /debian in {apt}",
        ),
        fix='Set debian_mirror = "https://HOST/debian" in the recipe\'s [machine] table.',
    )


def _addresses(apt: Path) -> Iterator[str]:
    parts = apt / "sources.list.d"
    for path in (apt / "sources.list", *sorted(parts.glob("*.list")), *sorted(parts.glob("*.sources"))):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # unreadable to this user is as good as absent: the error above says what was sought
        yield from _deb822(text) if path.suffix == ".sources" else _one_line(text)


def _one_line(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if match := _ONE_LINE.match(line.partition("#")[0].strip() + " "):
            yield match[1]


def _deb822(text: str) -> Iterator[str]:
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for fields in paragraphs(kept):
        known = {name.lower(): value.strip() for name, value in fields.items()}
        if known.get("enabled", "yes").lower() not in {"no", "false", "0", "off", "without", "disable"}:
            yield from known.get("uris", "").split()
