"""Chosen files of a tree that is not laid out yet: of a commit, an archive or a directory, then patched.

What must be known of a tree at lock time lies in a handful of files; laying out all of it takes minutes.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from torchbuild.edges import patches
from torchbuild.edges.archive import read_members
from torchbuild.edges.atomic import translated, write_bytes
from torchbuild.edges.git_checkout import one_line
from torchbuild.edges.git_command import local_git
from torchbuild.errors import StageError
from torchbuild.model.inner_path import leaves

__all__ = ["TreeFiles", "Wanted", "moved_from", "of_archive", "of_commit", "of_directory", "patched"]

Wanted = Callable[[str], bool]
"""Whether a file is to be read, by its path from the top of the tree."""

_TOUCHED = re.compile(
    rb"^(?:(?:---|\+\+\+) [^/\r\n]*/|(?:rename|copy) (?:from|to) )(?P<name>[^\t\r\n]+)", re.MULTILINE
)
_MOVED = re.compile(rb"^(?:rename|copy) from (?P<name>[^\r\n]+)", re.MULTILINE)
_LINK_OR_FILE = (b"100644", b"100755", b"120000")


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeFiles:
    """What was read of a tree."""

    names: frozenset[str]
    """Paths of all its files and links."""
    texts: Mapping[str, bytes]
    """Content of the wanted ones."""

    def with_part(self, path: str, part: TreeFiles) -> TreeFiles:
        """This tree with another one laid at `path`."""
        names = frozenset(f"{path}/{name}" for name in part.names)
        texts = {f"{path}/{name}": content for name, content in part.texts.items()}
        return TreeFiles(names=self.names | names, texts={**self.texts, **texts})


def of_commit(bare: Path, commit: str, wanted: Wanted) -> TreeFiles:
    """Files of a commit; links within the tree are followed.

    Raises:
        FetchError: ``git-object-missing``.
    """
    one_line(["rev-parse", "--verify", f"{commit}^{{tree}}"], bare, commit)
    listed = local_git(["ls-tree", "-r", "-z", "--full-tree", commit], cwd=bare).out
    rows = (row.partition(b"\t") for row in listed.split(b"\0") if row.startswith(_LINK_OR_FILE))
    names = frozenset(os.fsdecode(name) for _, _, name in rows)
    chosen = sorted(name for name in names if wanted(name) and "\n" not in name)
    asked = b"".join(f"{commit}:".encode() + os.fsencode(name) + b"\n" for name in chosen)
    answer = local_git(["cat-file", "--batch", "--follow-symlinks"], cwd=bare, stdin=asked).out
    return TreeFiles(names=names, texts=dict(_batch(chosen, answer)))


def _batch(names: Iterable[str], answer: bytes) -> Iterator[tuple[str, bytes]]:
    """Names with the blobs that ``git cat-file --batch`` answered in the same order."""
    at = 0
    for name in names:
        end = answer.find(b"\n", at)
        fields = answer[at:end].split(b" ")
        at = end + 1
        if fields[
            -1
        ].isdigit():  # the size of what was found; of a broken link, of what could not be followed
            size = int(fields[-1])
            if fields[-2] == b"blob":
                yield name, answer[at : at + size]
            at += size + 1


def of_archive(archive: Path, wanted: Wanted, *, strip: int) -> TreeFiles:
    """Regular files of an archive, in one pass; see `torchbuild.edges.archive.read_members`."""
    names: set[str] = set()

    def note(name: str) -> bool:
        names.add(name)
        return wanted(name)

    texts = read_members(archive, note, strip=strip)
    return TreeFiles(names=frozenset(names), texts=texts)


def of_directory(folder: Path, wanted: Wanted) -> TreeFiles:
    """Files of a directory, ``.git`` left out; a link that leads out of it is not followed.

    Raises:
        HostError: ``not-writable`` (no right to read), ``file-operation-failed``.
    """
    top, names, texts = folder.resolve(), set(), {}
    with translated(folder):
        for directory, below, files in os.walk(top):
            below[:] = [name for name in below if name != ".git"]
            for file in files:
                path = Path(directory, file)
                name = path.relative_to(top).as_posix()
                names.add(name)
                if wanted(name) and path.is_file() and path.resolve().is_relative_to(top):
                    texts[name] = path.read_bytes()
    return TreeFiles(names=frozenset(names), texts=texts)


def moved_from(contents: Iterable[bytes]) -> frozenset[str]:
    """Files that patches give another name: who wants to know the new one must read the old one."""
    return frozenset(os.fsdecode(match["name"]) for content in contents for match in _MOVED.finditer(content))


def patched(
    texts: Mapping[str, bytes], series: Sequence[tuple[str, bytes]], wanted: Wanted
) -> dict[str, bytes]:
    """These files as they are with the patches applied, and the wanted ones that a patch adds.

    Args:
        texts: content by path.
        series: name and content of each patch, in order; what else it changes is left aside. The name is the
            patch's path where it is a file of the user's, else what its series calls it.
        wanted: which files count.

    Raises:
        StageError: ``patch-does-not-apply``.
        HostError: ``git-missing``, ``disk-full``, ``not-writable``.
    """
    relevant = [
        (name, content, touched) for name, content in series if (touched := _touched(content, texts, wanted))
    ]
    if not relevant:
        return dict(texts)
    with tempfile.TemporaryDirectory(prefix="torchbuild-patched-") as folder:
        tree, file = Path(folder, "tree"), Path(folder, "patch")
        changed = {name for _, _, touched in relevant for name in touched}
        _lay(tree, {name: texts[name] for name in changed if name in texts})
        for name, content, touched in relevant:
            place = file / Path(name).name
            write_bytes(place, content)
            _apply(tree, place, sorted(touched), name)
        after = of_directory(tree, lambda _name: True).texts
    kept = {name: content for name, content in texts.items() if name not in changed}
    return kept | dict(after)


def _apply(tree: Path, place: Path, only: list[str], name: str) -> None:
    """Apply one patch; an error names the user's file, and not ours, which is gone by then."""
    try:
        patches.apply(tree, place, only=only)
    except StageError as error:
        ours = quote(str(place.resolve()))
        error.fix = (
            error.fix.replace(ours, quote(name))
            if Path(name).is_file()
            else f"Leave {name} out with source.series.exclude, or give a changed one in source.patches."
        )
        raise


def _touched(content: bytes, texts: Mapping[str, bytes], wanted: Wanted) -> set[str]:
    """Files of interest that a patch names, without the first component that stands for a side."""
    named = (os.fsdecode(match["name"]) for match in _TOUCHED.finditer(content))
    return {name for name in named if name in texts or wanted(name)}


def _lay(tree: Path, files: Mapping[str, bytes]) -> None:
    with translated(tree):
        tree.mkdir()
    for name, content in files.items():
        if not leaves(name):
            write_bytes(tree / name, content)
