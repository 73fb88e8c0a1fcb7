"""A wheel, opened once: each member hashed in one pass, ELF files laid where they can be looked at.

The archive is hostile until shown otherwise: what its directory promises is judged before a byte is
inflated, no member's name ever becomes a path on this machine, and whatever zipfile may raise ends as a
member's `problem` or as VerifyError(wheel-unreadable).
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torchbuild.errors import HostError, VerifyError
from torchbuild.inspection.elf import MAGIC, read_elf
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.members import hostile
from torchbuild.inspection.text import shown
from torchbuild.model.finding import Finding

__all__ = ["UNREADABLE", "Contents", "Member", "no_room", "opened", "scratch_folder", "unreadable"]

_CHUNK = 2**20
_LONGEST_TEXT = 64 * 2**20
_TEXTS = ("METADATA", "RECORD", "WHEEL")
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,  # zipfile's word for a password, and its kinds for a compression or an encryption it lacks
    ValueError,
    OSError,
)
"""What zipfile may raise for a hostile archive."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One file of the wheel."""

    name: str
    """As the wheel's directory spells it."""
    size: int
    """Bytes that came out."""
    sha256: str
    """Digest of those bytes; empty where they could not be read."""
    problem: str = ""
    """Why it could not be read to its end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """All that the checks look at. Files exist only while the wheel is open."""

    wheel: Path
    """The wheel."""
    size: int
    """Bytes of the wheel."""
    sha256: str
    """Digest of the wheel."""
    hostile: tuple[Finding, ...]
    """Why it was not unpacked; then everything below is empty."""
    members: tuple[Member, ...] = ()
    """Its files, in the order of its directory."""
    elf: tuple[ElfFacts, ...] = ()
    """Its ELF files, by name."""
    files: Mapping[str, Path]
    """Where each ELF file lies now, by its name in the wheel."""
    dist_info: str = ""
    """The one directory of metadata; empty where there is none or more than one."""
    texts: Mapping[str, bytes]
    """``METADATA``, ``WHEEL`` and ``RECORD`` as far as they are there and readable."""


@contextmanager
def opened(wheel: Path, scratch: Path | None = None) -> Iterator[Contents]:
    """Look into `wheel`; ELF files lie in a directory of their own under `scratch` until the end.

    Args:
        wheel: the file.
        scratch: a directory with room for the unpacked ELF files; the system's own where None.

    Raises:
        VerifyError: ``wheel-unreadable`` where it is no archive that can be read at all.
        HostError: ``disk-full`` or ``not-writable`` where the ELF files cannot be laid down.
    """
    try:
        size, sha256 = wheel.stat().st_size, _digest(wheel)
        archive = zipfile.ZipFile(wheel)
    except UNREADABLE as error:
        raise unreadable(wheel, str(error)) from error
    with archive:
        reasons = tuple(hostile(archive.infolist(), size))
        if reasons:
            yield Contents(wheel=wheel, size=size, sha256=sha256, hostile=reasons, files={}, texts={})
            return
        with scratch_folder(scratch) as folder:
            yield _scan(archive, wheel, size, sha256, folder)


def unreadable(wheel: Path, reason: str) -> VerifyError:
    """The error for a wheel that cannot be looked into."""
    return VerifyError(
        "wheel-unreadable",
        f"{wheel.name} cannot be read as a wheel",
        why=(f"seen: {shown(reason)}", f"wanted: a zip archive at {wheel}"),
        fix="Build or fetch the wheel again, then run the same command.",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def scratch_folder(parent: Path | None) -> Iterator[Path]:
    """A directory of its own below `parent`, the system's own where None, until the end.

    Raises:
        HostError: ``disk-full`` or ``not-writable``.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="torchbuild-inspect-", dir=parent))
    except OSError as error:
        raise no_room(error, parent or Path(tempfile.gettempdir())) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def no_room(error: OSError, folder: Path) -> HostError:
    """The error for a directory that takes no more of the wheel's libraries."""
    why = (f"seen: {error.strerror}", f"wanted: room for the wheel's libraries in {folder}")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return HostError(
            "disk-full",
            f"{folder} has no room for the wheel's libraries",
            why=why,
            fix="Free space there, or name another directory in TMPDIR.",
        )
    return HostError(
        "not-writable",
        f"{folder} cannot be written",
        why=why,
        fix="Make the directory writable, or name another one in TMPDIR.",
    )


def _scan(archive: zipfile.ZipFile, wheel: Path, size: int, sha256: str, folder: Path) -> Contents:
    infos = [info for info in archive.infolist() if not info.filename.endswith("/")]
    dist_info = _dist_info(infos)
    wanted = {f"{dist_info}/{name}": name for name in _TEXTS} if dist_info else {}
    members: list[Member] = []
    texts: dict[str, bytes] = {}
    files: dict[str, Path] = {}
    for number, info in enumerate(infos):
        laid = folder / f"{number}.elf"
        member, text = _read(archive, info, laid, keep=info.filename in wanted)
        members.append(member)
        if text is not None:
            texts[wanted[info.filename]] = text
        if laid.exists():
            files[info.filename] = laid
    by_name = {member.name: member for member in members}
    elf = (_look(by_name[name], path) for name, path in sorted(files.items()))
    return Contents(
        wheel=wheel,
        size=size,
        sha256=sha256,
        hostile=(),
        members=tuple(members),
        elf=tuple(elf),
        files=files,
        dist_info=dist_info,
        texts=texts,
    )


def _dist_info(infos: list[zipfile.ZipInfo]) -> str:
    tops = {info.filename.partition("/")[0] for info in infos if "/" in info.filename}
    found = [top for top in tops if top.endswith(".dist-info")]
    return found[0] if len(found) == 1 else ""


def _look(member: Member, path: Path) -> ElfFacts:
    if member.problem:
        return ElfFacts(path=member.name, sha256="", size=member.size, problem=member.problem)
    return read_elf(path, name=member.name, sha256=member.sha256, size=member.size)


def _read(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, laid: Path, *, keep: bool
) -> tuple[Member, bytes | None]:
    """Hash one member; lay it down where it is ELF; hand its bytes back where they are to be kept."""
    digest, size, is_elf = hashlib.sha256(), 0, False
    kept = bytearray()
    try:
        for chunk in _chunks(archive, info):
            is_elf = is_elf or (not size and chunk.startswith(MAGIC))
            digest.update(chunk)
            size += len(chunk)
            if is_elf:
                _lay(laid, chunk)
            if keep and size <= _LONGEST_TEXT:
                kept += chunk
    except _MemberUnreadableError as error:
        return Member(name=info.filename, size=size, sha256="", problem=str(error)), None
    member = Member(name=info.filename, size=size, sha256=digest.hexdigest())
    return member, bytes(kept) if keep and size <= _LONGEST_TEXT else None


class _MemberUnreadableError(Exception):
    """One member's bytes cannot be had; never leaves this module."""


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The member's bytes, unpacked as they are asked for; zipfile stops at the size its directory names."""
    try:
        with archive.open(info) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except UNREADABLE as error:
        raise _MemberUnreadableError(shown(f"{type(error).__name__}: {error}")) from error


def _lay(path: Path, chunk: bytes) -> None:
    try:
        with path.open("ab") as stream:
            stream.write(chunk)
    except OSError as error:
        raise no_room(error, path.parent) from error
