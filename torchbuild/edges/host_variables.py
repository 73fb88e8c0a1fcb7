"""Variables of the environment that reach into a build, proxies, and what others left in shared places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchbuild.knowledge.cuda import installer_fact
from torchbuild.knowledge.misleading_variables import misleading_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_files import HostFiles

__all__ = ["foreign_logs", "misleading", "proxies_of", "without_credentials"]

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
_MOST = 2000


def proxies_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The proxies that programs take from here, without the names and passwords in them."""
    names = sorted(name for name in environ if name.lower() in _PROXIES and environ[name])
    return {name: ",".join(map(without_credentials, environ[name].split(","))) for name in names}


def without_credentials(address: str) -> str:
    """An address, or ``HOST:PORT``, without what stands before its ``@``."""
    before, sign, after = address.strip().rpartition("@")
    if not sign:
        return address.strip()
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", before)
    return f"{scheme[0] if scheme else ''}{after}"


def misleading(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that compilers, CMake, the tree's own scripts or the loader would obey, without secrets."""
    from torchbuild.report.redaction import Redactor  # noqa: PLC0415  only where a machine is looked at
    from torchbuild.report.secrets import secrets_of  # noqa: PLC0415

    redactor = Redactor(secrets_of(environ))
    found = {}
    for name in sorted(environ):
        if misleading_variables().holds(name):
            line = redactor.redact(f"{name}={environ[name]}")
            found[name] = line.partition("=")[2][:_MOST]
    return found


def foreign_logs(files: HostFiles, uid: int) -> tuple[str, ...]:
    """Logs of a CUDA installer that are another user's: an installer of ours cannot write its own there.

    In a shared directory not even root may, as kernels protect what others own in one.
    """
    places = [files.place(path) for path in installer_fact().logs]
    found = []
    for place in places:
        try:
            owner = place.lstat().st_uid
        except OSError:  # not there, or not ours to see
            continue
        if owner != uid:
            found.append(str(place))
    return tuple(found)
