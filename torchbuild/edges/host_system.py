"""What system this is: distribution, kernel, C library, and what it runs in."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.host_programs import ask, plain_environ

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_files import HostFiles
    from torchbuild.edges.host_glances import Glances

__all__ = ["System", "git_version", "glibc_version", "newest_file", "os_release", "system_of"]

_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_TEGRA_RELEASE = "/etc/nv_tegra_release"
_IN_CONTAINER = ("/.dockerenv", "/run/.containerenv", "/.singularity.d")
_EVERYWHERE = ("/etc/ld.so.cache", "/etc/passwd", "/etc/hostname", "/var/lib/dpkg/status", "/var/lib/rpm")


class System(NamedTuple):
    """As in `torchbuild.model.host.Host`."""

    system: str = ""
    distribution: str = ""
    release: str = ""
    platform: str = ""
    board: str = ""
    l4t: str = ""


def system_of(files: HostFiles) -> System:
    """The system whose files these are.

    Raises:
        OSError: one of them cannot be read.
    """
    told = os_release(next(filter(None, map(files.text, _RELEASE_FILES)), ""))
    tegra = files.text(_TEGRA_RELEASE)
    board = files.text("/proc/device-tree/model").strip()
    is_jetson = bool(tegra) or "tegra" in files.text("/proc/device-tree/compatible")
    return System(
        system=told.get("PRETTY_NAME") or told.get("NAME", ""),
        distribution=told.get("ID", ""),
        release=told.get("VERSION_ID", ""),
        platform="jetson" if is_jetson else _runs_in(files),
        board=board if is_jetson else "",
        l4t=_l4t(tegra),
    )


def os_release(text: str) -> dict[str, str]:
    """The variables of an os-release; what is no assignment is passed over."""
    found = {}
    for line in text.splitlines():
        name, sign, value = line.strip().partition("=")
        if not (sign and name.isidentifier()):
            continue
        try:
            words = shlex.split(value)
        except ValueError:
            words = [value.strip("\"'")]
        found[name] = " ".join(words)
    return found


def _runs_in(files: HostFiles) -> str:
    if "microsoft" in files.text("/proc/sys/kernel/osrelease").lower():
        return "wsl2"
    return "container" if any(map(files.there, _IN_CONTAINER)) else ""


def _l4t(text: str) -> str:
    """``36.4.3`` of ``# R36 (release), REVISION: 4.3, …``."""
    begin, _, rest = text.partition("(release), REVISION:")
    major = begin.strip().removeprefix("#").strip().removeprefix("R")
    revision = rest.partition(",")[0].strip()
    return f"{major}.{revision}" if major.isdigit() and revision else ""


def glibc_version() -> str:
    """Such as ``2.36``; empty for another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return ""
    return version if name == "glibc" else ""


def newest_file(files: HostFiles) -> float:
    """Latest change of files that every machine has, in seconds since 1970: no true clock shows less."""
    found = [0.0]
    for place in map(files.place, _EVERYWHERE):
        try:
            found.append(place.stat().st_mtime)
        except OSError:  # another distribution keeps its records elsewhere
            continue
    return max(found)


def git_version(path: str, environ: Mapping[str, str], glances: Glances) -> str:
    """Such as ``2.39.5``; empty where there is no git, noted where it does not answer."""
    if not path:
        return ""
    answer = ask([path, "--version"], plain_environ(environ), glances)
    match = re.match(r"git version ([0-9]+(?:\.[0-9]+)*)", answer.text)
    if match is None:
        glances.unseen("git", answer.why or f"no version in {answer.text.strip()[:200]!r}")
    return match[1] if match else ""
