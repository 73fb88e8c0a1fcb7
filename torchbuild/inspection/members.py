"""Whether an archive may be unpacked at all: names, kinds and sizes, from its directory alone.

Nothing is inflated here, so that a bomb is seen before it goes off.
"""

from __future__ import annotations

import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from torchbuild.inspection.text import shown
from torchbuild.inspection.verdict import failed
from torchbuild.model.finding import Finding

__all__ = ["REFERENCE", "hostile"]

REFERENCE = "wheel-members"

_ENCRYPTED = 0x1
_MOST_MEMBERS = 250_000
_FREE_BYTES = 256 * 2**20
"""A wheel may always unpack to this much."""
_MOST_TIMES = 120
"""Beyond that, unpacked bytes for each byte of the file. Real wheels of compiled code stay below 10."""


def hostile(infos: Sequence[zipfile.ZipInfo], archive_size: int) -> Iterator[Finding]:
    """Each reason not to unpack the archive, worst first; nothing where it may be unpacked."""
    if len(infos) > _MOST_MEMBERS:
        yield failed(REFERENCE, "too many members", seen=str(len(infos)), wanted=f"at most {_MOST_MEMBERS}")
        return
    unpacked = sum(info.file_size for info in infos)
    allowed = max(_FREE_BYTES, _MOST_TIMES * archive_size)
    if unpacked > allowed:
        yield failed(
            REFERENCE,
            "unpacks to more than any wheel of its size",
            seen=f"{unpacked} bytes out of {archive_size}",
            wanted=f"at most {allowed} bytes",
        )
    for info in infos:
        yield from _bad_member(info)
    yield from _collisions(infos)


def _bad_member(info: zipfile.ZipInfo) -> Iterator[Finding]:
    name = info.orig_filename
    wrong = _wrong_name(name)
    if wrong:
        yield failed(REFERENCE, "a member's name cannot be unpacked safely", seen=name, wanted=wrong)
    if info.flag_bits & _ENCRYPTED:
        yield failed(REFERENCE, f"{shown(name)} is encrypted", seen="encrypted", wanted="readable")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield failed(
            REFERENCE,
            f"{shown(name)} is packed in a way that installers need not know",
            seen=f"method {info.compress_type}",
            wanted="stored or deflated",
        )
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        yield failed(
            REFERENCE,
            f"{shown(name)} is neither file nor directory",
            seen=f"type {kind:#o}",
            wanted="a wheel holds no links and no devices",
        )


def _wrong_name(name: str) -> str:
    """What a good name would be, or nothing where `name` is good."""
    if "\\" in name or name.startswith("/") or name[1:2] == ":":
        return "a relative name with / between its parts"
    if any(part in ("", ".", "..") for part in name.removesuffix("/").split("/")):
        return "no empty part, no . and no .."
    if not name.isprintable():
        return "printable characters"
    return ""


def _collisions(infos: Sequence[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Names that come twice, and files that are directories of other members."""
    names = Counter(info.filename.removesuffix("/") for info in infos)
    for name, count in names.items():
        if count > 1:
            yield failed(REFERENCE, f"{shown(name)} is there more than once", seen=str(count), wanted="1")
    files = {info.filename for info in infos if not info.filename.endswith("/")}
    for name in sorted(files & _folders(names)):
        yield failed(REFERENCE, f"{shown(name)} is a file and a directory", seen="both", wanted="one of them")


def _folders(names: Iterable[str]) -> set[str]:
    """Every directory that a member lies in, at any depth."""
    folders: set[str] = set()
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
