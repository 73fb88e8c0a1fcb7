"""Unpacking what strangers packed: tar (plain, gz, xz, bz2) and zip.

Every archive is hostile until it is unpacked. All files are written into a fresh directory in which no
link exists yet, each opened exclusively, so no member can be written through another one; links are laid
last, after each has been followed through all the others and found to stay inside. Then the directory
gets its name. A failure leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, NoReturn

from torchbuild.edges.archive_members import LONGEST_NAME, Member, members, reading, refuse_size
from torchbuild.edges.atomic import leftovers, remove_tree, replace_directory, temp_beside, translated
from torchbuild.errors import FetchError

__all__ = ["called", "check", "read_member", "read_members", "unpack"]

_CHUNK = 1 << 20
_SMALL = 16 << 20
"""Bytes that `read_member` reads at most."""
LIMIT_BYTES = 32 * 2**30
"""Bytes that all members of an archive may have together."""
_LONGEST_PART, _MOST_LINKS, _MOST_MEMBERS = 255, 40, 2_000_000
_LATEST = float(2**33)
"""Time stamps beyond this (the year 2242) overflow somewhere; they become 1970."""

_Parts = tuple[str, ...]


def unpack(
    archive: Path,
    destination: Path,
    *,
    strip: int = 0,
    only: str | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> None:
    """Unpack into `destination`, which is replaced where it exists. Whole, or not at all.

    Directories and executable files get mode 755, other files 644, whatever the umask and the archive
    say; set-id bits and owners are dropped; time stamps of files are kept.

    Args:
        archive: the file.
        destination: the directory to be.
        strip: leading parts to take from each name; directories that lose their whole name are dropped.
        only: keep only what has this name or lies below it, after `strip`; names stay as they are.
        limit_bytes: bytes that all members may have together, kept or not.

    Raises:
        FetchError: ``archive-unsafe-member``, ``archive-truncated``, ``archive-unknown-format``,
            ``archive-too-large``, ``archive-strip-too-deep``, ``archive-member-missing``.
        HostError: ``disk-full``, ``not-writable``, ``file-missing``, ``file-operation-failed``.
    """
    for left in leftovers(destination.parent):
        remove_tree(left)
    temp = temp_beside(destination)
    with translated(destination):
        temp.mkdir(parents=True)
        temp.chmod(0o755)
    try:
        layer, below = _Layer(archive, temp, limit_bytes), _parts(archive, only or "")
        with contextlib.closing(members(archive)) as packed:
            for member in packed:
                layer.lay(member, strip, below)
        layer.finish(only)
        replace_directory(temp, destination)
    except BaseException:
        remove_tree(temp)
        raise


def check(archive: Path, *, strip: int = 0, only: str | None = None, limit_bytes: int = LIMIT_BYTES) -> None:
    """Refuse what `unpack` with the same arguments would refuse, without writing anything.

    Raises:
        FetchError: as `unpack`.
        HostError: ``not-writable`` (no right to read it), ``file-missing``.
    """
    layer, below = _Layer(archive, None, limit_bytes), _parts(archive, only or "")
    with contextlib.closing(members(archive)) as packed:
        for member in packed:
            layer.lay(member, strip, below)
    layer.finish(only)


@contextlib.contextmanager
def called(name: str, archive: Path) -> Iterator[None]:
    """In errors of the body, call the archive what the recipe calls it; where it lies is told as well."""
    try:
        yield
    except FetchError as error:
        if str(archive) in error.what:
            error.what = error.what.replace(str(archive), name)
            error.why = (*error.why, f"the file: {archive}")
        raise


def read_member(archive: Path, name_suffix: str, *, strip: int = 1) -> bytes | None:
    """One small file out of an archive, without unpacking it.

    Args:
        archive: the file.
        name_suffix: the name that is left after `strip` leading parts, such as ``pyproject.toml``.
        strip: leading parts to ignore.

    Returns:
        Its bytes, or None where no regular file has that name.

    Raises:
        FetchError: ``archive-truncated``, ``archive-unknown-format``, ``archive-too-large`` (above 16 MiB).
        HostError: ``file-missing``, ``not-writable`` (no right to read it).
    """
    wanted = tuple(name_suffix.split("/"))
    with contextlib.closing(members(archive)) as packed:
        for member in packed:
            if member.kind == "file" and _split(member.name)[strip:] == wanted:
                return _bytes_of(archive, member)
    return None


def read_members(archive: Path, wanted: Callable[[str], bool], *, strip: int = 1) -> dict[str, bytes]:
    """Small files out of an archive in one pass, without unpacking it.

    Args:
        archive: the file.
        wanted: asked of every regular file once, by the name that is left after `strip` leading parts.
        strip: leading parts to ignore.

    Raises:
        As `read_member`, and as `unpack` for members that it would refuse.
    """
    found, layer = {}, _Layer(archive, None, LIMIT_BYTES)
    with contextlib.closing(members(archive)) as packed:
        for member in packed:
            name = "/".join(layer.lay(member, strip, ()))
            is_asked = name and member.kind in ("file", "hardlink") and wanted(name)
            if is_asked and member.kind == "file":
                found[name] = _bytes_of(archive, member)
    layer.finish(None)
    return found


def _bytes_of(archive: Path, member: Member) -> bytes:
    if member.size > _SMALL:
        refuse_size(archive, member.name, member.size, _SMALL)
    with reading(archive), member.open() as file:
        data = file.read(member.size)
        if len(data) != member.size:
            raise EOFError("a member ends early")
    return data


class _Layer:
    """Lays members into a fresh directory. It knows all that was laid, so that it can refuse.

    Without a directory it only looks.
    """

    def __init__(self, archive: Path, root: Path | None, limit: int) -> None:
        self._archive, self._root, self._limit = archive, root, limit
        self._bytes = self._members = 0
        self._kinds: dict[_Parts, str] = {(): "directory"}
        self._links: dict[_Parts, Member] = {}

    def lay(self, member: Member, strip: int, only: _Parts) -> _Parts:
        """Check the member, then write it unless it is a link, lies outside `only`, or has no name left.

        Returns the name that it has then, empty where it is passed over.
        """
        parts = self._checked(member)
        self._count(member)
        if len(parts) <= strip and member.kind != "directory":
            self._refuse_strip(member, strip)
        parts = parts[strip:]
        if not parts or parts[: len(only)] != only:
            return ()
        self._take_name(member, parts)
        if member.kind == "file" and self._root is not None:
            self._write(self._root.joinpath(*parts), member)
        elif member.kind == "hardlink":
            self._link(member, parts, strip)
        elif member.kind == "symlink":
            self._links[parts] = member
        return parts

    def finish(self, only: str | None) -> None:
        """Lay the links, each after it was seen to stay inside."""
        if only is not None and len(self._kinds) == 1:
            raise FetchError(
                "archive-member-missing",
                f"{self._archive}: holds nothing below {only!a}",
                why=f"wanted: at least one member below {only!a}, after the leading parts were taken away",
                fix="List the archive, then name a directory that is in it.",
            )
        for parts, member in self._links.items():
            self._follow(parts, member)
        if self._root is None:
            return
        with translated(self._root):
            for parts, member in self._links.items():
                self._root.joinpath(*parts).symlink_to(member.target)

    def _count(self, member: Member) -> None:
        self._bytes += member.size
        self._members += 1
        if self._bytes > self._limit:
            refuse_size(self._archive, member.name, self._bytes, self._limit)
        if self._members > _MOST_MEMBERS:
            _refuse_count(self._archive)

    def _checked(self, member: Member) -> _Parts:
        if member.kind == "special":
            self._refuse(member, "seen: a device, a pipe or another special file")
        if member.size < 0:
            self._refuse(member, f"seen: a size of {member.size} bytes")
        try:
            return _safe_parts(member.name)
        except ValueError as error:
            self._refuse(member, f"seen: {error}", error)

    def _take_name(self, member: Member, parts: _Parts) -> None:
        """Note the name and the directories above it; none may be there as something else."""
        for depth in range(1, len(parts)):
            above = parts[:depth]
            if above not in self._kinds:
                self._make_directory(above)
            elif self._kinds[above] != "directory":
                self._refuse(member, f"seen: it lies below {'/'.join(above)!a}, a {self._kinds[above]}")
        if parts not in self._kinds:
            if member.kind == "directory":
                self._make_directory(parts)
            else:
                self._kinds[parts] = member.kind
        elif (member.kind, self._kinds[parts]) != ("directory", "directory"):
            self._refuse(member, f"seen: the name is there already, as a {self._kinds[parts]}")

    def _make_directory(self, parts: _Parts) -> None:
        if self._root is not None:
            place = self._root.joinpath(*parts)
            with translated(place):
                place.mkdir()
                place.chmod(0o755)
        self._kinds[parts] = "directory"

    def _write(self, place: Path, member: Member) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with reading(self._archive):
            data = member.open()
        with data, translated(place):
            with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
                _copy(data, file, member.size, self._archive)
                os.fchmod(file.fileno(), 0o755 if member.is_executable else 0o644)
            mtime = member.mtime if 0 <= member.mtime < _LATEST else 0.0
            os.utime(place, (mtime, mtime))

    def _link(self, member: Member, parts: _Parts, strip: int) -> None:
        """A hard link becomes one only to a file that this archive laid before."""
        try:
            target = _safe_parts(member.target)[strip:]
        except ValueError as error:
            self._refuse(member, f"seen: a hard link to {member.target!a}: {error}", error)
        if self._kinds.get(target) not in ("file", "hardlink"):
            self._refuse(member, f"seen: a hard link to {member.target!a}, which is no file laid before it")
        if self._root is None:
            return
        with translated(self._root):
            os.link(self._root.joinpath(*target), self._root.joinpath(*parts), follow_symlinks=False)

    def _follow(self, parts: _Parts, member: Member) -> None:
        """Walk a symbolic link's target as the kernel would; every step must stay inside."""
        todo = list(reversed(member.target.split("/")))
        here, followed = list(parts[:-1]), 0
        if not member.target or member.target.startswith("/") or "\0" in member.target:
            self._refuse(member, f"seen: a link to {member.target[:300]!a}")
        if len(member.target) > LONGEST_NAME // 4:  # UTF-8 has at most four bytes a character
            self._refuse(member, "seen: a link to a path that no file can have")
        while todo:
            part = todo.pop()
            if part == ".." and not here:
                self._refuse(member, f"seen: a link to {member.target!a}, which leaves the archive")
            if part == "..":
                here.pop()
            elif part not in ("", "."):
                link = self._links.get((*here, part))
                if link is None:
                    here.append(part)
                    continue
                followed += 1
                if followed > _MOST_LINKS or link.target.startswith("/"):
                    self._refuse(member, f"seen: a link to {member.target!a}, through {link.name!a}")
                todo += reversed(link.target.split("/"))

    def _refuse(self, member: Member, seen: str, cause: Exception | None = None) -> NoReturn:
        raise FetchError(
            "archive-unsafe-member",
            f"{self._archive}: the member {member.name[:300]!a} is not safe to unpack",
            why=(seen, "wanted: files, directories and links that stay inside the archive, each name once"),
            fix="Do not use this archive; ask those who published it, or get the source another way.",
        ) from cause

    def _refuse_strip(self, member: Member, strip: int) -> NoReturn:
        raise FetchError(
            "archive-strip-too-deep",
            f"{self._archive}: the member {member.name[:300]!a} would lose its whole name",
            why=f"wanted: every file below {strip} leading directories",
            fix="Take fewer leading parts away (strip), so that no file is lost.",
        )


def _parts(archive: Path, only: str) -> _Parts:
    """The parts of a prefix that our own caller gave."""
    if not only:
        return ()
    try:
        return _safe_parts(only)
    except ValueError as error:
        raise FetchError(
            "archive-member-missing",
            f"{archive}: no archive may hold {only!a}",
            why=f"seen: {error}",
            fix="Name a directory of the archive, relative to its root.",
        ) from error


def _safe_parts(name: str) -> _Parts:
    """The parts of a member's name; ValueError says why it is none."""
    if name.startswith("/"):
        raise ValueError("an absolute name")
    if "\0" in name or len(os.fsencode(name)) > LONGEST_NAME:
        raise ValueError("a name that no file can have")
    parts = _split(name)
    if ".." in parts:
        raise ValueError("a name with '..'")
    if any(len(os.fsencode(part)) > _LONGEST_PART for part in parts):
        raise ValueError("a name that no file can have")
    return parts


def _split(name: str) -> _Parts:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _copy(data: IO[bytes], file: BinaryIO, size: int, archive: Path) -> None:
    """Exactly `size` bytes: an archive that has fewer is cut, and one that has more lied."""
    left = size
    while left:
        with reading(archive):
            chunk = data.read(min(_CHUNK, left))
            if not chunk:
                raise EOFError("a member ends early")
        file.write(chunk)
        left -= len(chunk)


def _refuse_count(archive: Path) -> NoReturn:
    raise FetchError(
        "archive-too-large",
        f"{archive}: holds too many members",
        why=f"wanted: at most {_MOST_MEMBERS} members",
        fix="Check that this archive is the right one; it may be made to fill the disk.",
    )
