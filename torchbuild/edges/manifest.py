"""What a stage made, so that the next run can tell whether it is still there and still the same.

Comparing looks at metadata, and at content where these differ: 20,000 files take a fraction of a second. What
came later and is not in the manifest does not count: later stages write beside what earlier ones made.
`tree_digest` is the other question: what is in a tree, whoever made it and whenever.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from torchbuild.edges.atomic import sha256_of, translated
from torchbuild.errors import StageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Entry", "Manifest", "differences", "dump", "load", "take", "tree_digest"]

_Kind = Literal["directory", "file", "link", "special"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, directory or link, as it was when the stage ended."""

    path: str
    """Relative to the manifest's root."""
    kind: str
    """``directory``, ``file``, ``link`` or ``special``."""
    size: int
    """Bytes; 0 for what is not a file."""
    mtime_ns: int
    """When the content changed last; 0 for a directory, in which later stages may write."""
    inode: int
    """The file's number on its file system."""
    mode: int
    """Permission bits."""
    sha256: str = ""
    """Of a file's content; empty for what is not a file."""
    target: str = ""
    """Where a link points."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a stage made."""

    entries: tuple[Entry, ...] = ()
    """In the order of the paths."""


def take(root: Path, paths: Iterable[str], *, without: Collection[str] = ()) -> Manifest:
    """What stands now at `paths` below `root`, directories with all that is in them.

    Args:
        root: the directory that the paths are relative to.
        paths: what a stage says it made.
        without: names left out wherever they stand, such as ``.git``.

    Raises:
        StageError: ``made-path-missing``.
        HostError: ``file-missing`` (it vanished meanwhile), ``not-writable`` (no right to read it),
            ``file-operation-failed``.
    """
    entries: dict[str, Entry] = {}
    for path in sorted(set(paths)):
        if not os.path.lexists(root / path):
            raise StageError(
                "made-path-missing",
                f"{root / path}: not there, though the stage says that it made it",
                why="wanted: every path that the stage's plan names under makes",
                fix="Read the stage's log for what removed it, then run the stage again.",
            )
        with translated(root / path):
            for found in _walk(root / path, without):
                relative = found.relative_to(root).as_posix()
                if relative not in entries:
                    entries[relative] = _entry(found, relative)
    return Manifest(tuple(entries[path] for path in sorted(entries)))


def differences(root: Path, manifest: Manifest, *, paranoid: bool = False) -> Iterator[tuple[str, str]]:
    """Each path that is not what it was, with what is different; nothing if all is as the stage left it.

    A file whose metadata differ is read again and is the same where its content is. Paths that came later do
    not count.
    Bytes that were changed by somebody who then put the time back are only found by reading: `paranoid`.

    Args:
        root: the directory that the manifest's paths are relative to.
        manifest: what `take` returned then.
        paranoid: read every file, also where the metadata are the same.

    Raises:
        HostError: ``not-writable`` (no right to read it), ``file-operation-failed``.
    """
    top = os.fspath(root)
    for then in manifest.entries:
        what = _difference(os.path.join(top, then.path), then, paranoid=paranoid)  # noqa: PTH118  thousands
        if what:
            yield then.path, what


def _difference(place: str, then: Entry, *, paranoid: bool) -> str:
    """What is different; empty where nothing is."""
    try:
        state = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return "it is gone"
    except OSError:
        with translated(Path(place)):
            raise
    kind, mode = _kind(state.st_mode), stat.S_IMODE(state.st_mode)
    if kind != then.kind:
        return f"it was a {then.kind} and is a {kind}"
    if mode != then.mode:
        return f"its mode was {then.mode:04o} and is {mode:04o}"
    if kind == "link":
        return _other_target(Path(place), then.target)
    if kind != "file" or _looks_the_same(state, then, paranoid=paranoid):
        return ""
    return _other_content(Path(place), state, then)


def _looks_the_same(state: os.stat_result, then: Entry, *, paranoid: bool) -> bool:
    """Whether the file's metadata are enough to believe in its content."""
    seen = (state.st_size, state.st_mtime_ns, state.st_ino)
    return seen == (then.size, then.mtime_ns, then.inode) and not paranoid


def _other_target(place: Path, then: str) -> str:
    with translated(place):
        now = os.fsdecode(place.readlink())
    return "" if now == then else f"it pointed to {then} and points to {now}"


def _other_content(place: Path, state: os.stat_result, then: Entry) -> str:
    if state.st_size != then.size:
        return f"it had {then.size} bytes and has {state.st_size}"
    return "" if sha256_of(place) == then.sha256 else "its bytes changed, its size did not"


def dump(manifest: Manifest) -> list[list[Any]]:
    """The manifest as JSON can hold it: one row an entry, in the order of `Entry`'s fields."""
    return [list(astuple(entry)) for entry in manifest.entries]


def load(rows: list[list[Any]]) -> Manifest:
    """What `dump` wrote.

    Raises:
        ValueError: it is something else.
    """
    wanted = [str, str, int, int, int, int, str, str]
    for row in rows:
        if [type(value) for value in row] != wanted:
            raise ValueError("a row that is no entry of a manifest")
    return Manifest(tuple(Entry(*row) for row in rows))


def tree_digest(path: Path, *, without: Collection[str] = ()) -> str:
    """What a file or a tree is, as one SHA-256: paths, types, exec bits, content and link targets.

    Time stamps, owners, other permissions and the place of the tree do not enter: two trees with one
    digest build the same.

    Args:
        path: the file or the directory.
        without: names left out wherever they stand, such as ``.git``.

    Raises:
        StageError: ``special-file-in-tree``.
        HostError: ``file-missing``, ``not-writable`` (no right to read it), ``file-operation-failed``.
    """
    whole = hashlib.sha256()
    for found in _walk(path, without):
        relative = "" if found == path else found.relative_to(path).as_posix()
        for part in (os.fsencode(relative), *_identity(found)):
            whole.update(b"%d:" % len(part) + part)
    return whole.hexdigest()


def _identity(path: Path) -> tuple[bytes, bytes, bytes]:
    """Type, exec bit, and content or target."""
    with translated(path):
        state = path.lstat()
        kind = _kind(state.st_mode)
        target = os.fsencode(path.readlink()) if kind == "link" else b""
    if kind == "special":
        raise StageError(
            "special-file-in-tree",
            f"{path}: neither a file, a directory nor a link",
            why="wanted: a tree whose content can be read",
            fix="Remove it from the tree, or find out which command of the recipe makes it.",
        )
    if kind == "file":
        return b"file", b"x" if state.st_mode & stat.S_IXUSR else b"", sha256_of(path).encode()
    return kind.encode(), b"", target


def _walk(top: Path, without: Collection[str]) -> Iterator[Path]:
    """`top` and all below it, each directory before what is in it, names in the order of their bytes."""
    todo = [top]
    while todo:
        path = todo.pop()
        yield path
        if path.is_symlink() or not path.is_dir():
            continue
        with translated(path), os.scandir(path) as scan:
            names = sorted(
                (os.fsencode(item.name) for item in scan if item.name not in without), reverse=True
            )
        todo += [path / os.fsdecode(name) for name in names]


def _entry(path: Path, relative: str) -> Entry:
    state = path.lstat()
    kind = _kind(state.st_mode)
    is_file = kind == "file"
    return Entry(
        path=relative,
        kind=kind,
        size=state.st_size if is_file else 0,
        mtime_ns=state.st_mtime_ns if is_file else 0,
        inode=state.st_ino,
        mode=stat.S_IMODE(state.st_mode),
        sha256=sha256_of(path) if is_file else "",
        target=os.fsdecode(path.readlink()) if kind == "link" else "",
    )


def _kind(mode: int) -> _Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "special"
