"""Where an existing build of torch is looked at: a wheel, or the folder that it is installed in.

Both are the same to who reads: files by the name that they have in site-packages. Of a wheel only what is
asked for is unpacked, and only after its directory was found harmless.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from torchbuild.errors import UsageError
from torchbuild.inspection.archive import UNREADABLE, no_room, scratch_folder, unreadable
from torchbuild.inspection.members import hostile
from torchbuild.inspection.names import installed_path
from torchbuild.inspection.text import shown

__all__ = [
    "InstalledTorch",
    "Opener",
    "TorchFiles",
    "TorchWheel",
    "find_installed",
    "opened_archive",
    "opened_wheel",
    "require_torch",
]

_CHUNK = 1 << 20
_AT_ONCE = 2
_LIBRARY = re.compile(r"([A-Za-z_]\w*)/lib/libtorch(?:_cpu)?\.so")
_LOOKED_INTO = ("", "lib", "include/ATen", "include/ATen/cuda", "share/cmake/Caffe2", "share/cmake/Torch")
"""Folders of the package of which the files are told."""
_WITHIN = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "local/lib/python3*/dist-packages",
    "lib/python3*/dist-packages",
)
"""Where an environment, or a system with its own scheme, has its packages."""

Opener = Callable[[], BinaryIO]
"""Opens a file that can be sought, each time anew."""


class TorchFiles(Protocol):
    """Files of one build, by their names in site-packages."""

    @property
    def subject(self) -> str:
        """What it is called in messages: the wheel's file name, or a folder."""
        ...

    @property
    def file_name(self) -> str:
        """The wheel's file name; empty where it is installed."""
        ...

    @property
    def package(self) -> str:
        """The package that holds the libraries; ``torch`` where none does."""
        ...

    def names(self) -> tuple[str, ...]:
        """Files of the package that matter here, of its metadata, and of what bundlers lay beside it."""
        ...

    def text(self, name: str, most: int) -> bytes | None:
        """A small file; None where it is not there, cannot be read, or is longer than `most`."""
        ...

    def path(self, name: str) -> Path | None:
        """Where a file lies now, unpacked where it must be; None where it is not there, or cannot be read."""
        ...

    def prepare(self, names: Iterable[str]) -> None:
        """Say which paths will be asked for, so that they are unpacked together."""
        ...

    @property
    def read_bytes(self) -> int:
        """How much was unpacked, or read of small files."""
        ...


class TorchWheel:
    """A wheel that is open.

    Attributes:
        read_bytes: how much was unpacked so far.
    """

    def __init__(self, name: str, archive: zipfile.ZipFile, opener: Opener, folder: Path) -> None:
        """`opener` opens the file once more; `folder` takes what is unpacked."""
        self._name = name
        self._archive = archive
        self._opener = opener
        self._folder = folder
        self._lock = threading.Lock()
        self._members = {
            installed_path(info.filename): info
            for info in archive.infolist()
            if not info.filename.endswith("/")
        }
        self._laid: dict[str, Path | None] = {}
        self._is_over = False
        self._package = _package(self._members)
        self.read_bytes = 0

    @property
    def subject(self) -> str:
        """The wheel's file name."""
        return shown(self._name)

    @property
    def file_name(self) -> str:
        """The same."""
        return self._name

    @property
    def package(self) -> str:
        """The package that holds the libraries."""
        return self._package

    def names(self) -> tuple[str, ...]:
        """All members."""
        return tuple(self._members)

    def text(self, name: str, most: int) -> bytes | None:
        """A small member."""
        info = self._members.get(name)
        if info is None or info.file_size > most:
            return None
        try:
            with self._lock, self._archive.open(info) as stream:
                found = stream.read(most + 1)
        except UNREADABLE:
            return None
        self.read_bytes += len(found)
        return found

    def path(self, name: str) -> Path | None:
        """A member, unpacked once.

        Raises:
            HostError: ``disk-full`` or ``not-writable``.
        """
        if name not in self._laid:
            self._laid[name] = self._unpacked(name, len(self._laid))
        return self._laid[name]

    def prepare(self, names: Iterable[str]) -> None:
        """Unpack several at a time.

        Raises:
            HostError: ``disk-full`` or ``not-writable``.
        """
        wanted = [name for name in dict.fromkeys(names) if name in self._members and name not in self._laid]
        numbers = range(len(self._laid), len(self._laid) + len(wanted))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                self._laid.update(zip(wanted, pool.map(self._unpacked, wanted, numbers), strict=True))
            except BaseException:  # Ctrl-C, a full disk, a lost server: nobody waits for the others
                self._is_over = True
                raise

    def _unpacked(self, name: str, number: int) -> Path | None:
        """Lay a member down under a number: no name of a wheel becomes a path."""
        info = self._members.get(name)
        if info is None:
            return None
        to = self._folder / f"{number}.file"
        try:
            chunks = self._chunks(info)
            first = next(chunks, b"")
        except UNREADABLE:
            return None
        try:
            with to.open("wb") as laid:
                laid.write(first)
                for chunk in _whole(chunks):
                    laid.write(chunk)
        except _CutOffError:
            return None
        except OSError as error:
            raise no_room(error, to.parent) from error
        self.read_bytes += info.file_size
        return to

    def _chunks(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        # a handle of its own: two members are unpacked at a time
        with self._opener() as file, zipfile.ZipFile(file) as archive, archive.open(info) as stream:
            while not self._is_over and (chunk := stream.read(_CHUNK)):
                yield chunk


class _CutOffError(Exception):
    """A member ends in the middle; never leaves this module."""


def _whole(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except UNREADABLE as error:
        raise _CutOffError from error


@contextmanager
def opened_wheel(wheel: Path, scratch: Path | None = None) -> Iterator[TorchWheel]:
    """Look into a wheel.

    Args:
        wheel: the file.
        scratch: a directory with room for its largest libraries, unpacked; the system's own where None.

    Raises:
        VerifyError: ``wheel-unreadable`` where it is no archive, or must not be unpacked.
        HostError: ``disk-full`` or ``not-writable``.
    """
    with opened_archive(wheel.name, lambda: wheel.open("rb"), scratch) as files:
        yield files


@contextmanager
def opened_archive(name: str, opener: Opener, scratch: Path | None = None) -> Iterator[TorchWheel]:
    """Look into a wheel, wherever it lies.

    Args:
        name: the wheel's file name.
        opener: opens it, each time from its beginning.
        scratch: as for `opened_wheel`.

    Raises:
        VerifyError: ``wheel-unreadable`` where it is no archive, or must not be unpacked.
        HostError: ``disk-full`` or ``not-writable``.
    """
    with ExitStack() as opened:
        try:
            file = opened.enter_context(opener())
            size = file.seek(0, os.SEEK_END)
            archive = opened.enter_context(zipfile.ZipFile(file))
        except UNREADABLE as error:
            raise unreadable(Path(name), str(error)) from error
        reason = next(hostile(archive.infolist(), size), None)
        if reason is not None:
            raise unreadable(Path(name), f"{reason.what}: {reason.seen}")
        yield TorchWheel(name, archive, opener, opened.enter_context(scratch_folder(scratch)))


class InstalledTorch:
    """A folder that packages are installed in.

    Attributes:
        read_bytes: how much of small files was read so far.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is site-packages, as `find_installed` finds it."""
        self._folder = folder
        self._package = _package(_libraries(folder))
        self.read_bytes = 0

    @property
    def subject(self) -> str:
        """The folder."""
        return shown(str(self._folder))

    @property
    def file_name(self) -> str:
        """None: it is installed."""
        return ""

    @property
    def package(self) -> str:
        """The package that holds the libraries."""
        return self._package

    def names(self) -> tuple[str, ...]:
        """Files of the few folders that matter."""
        package = self.package
        folders = [f"{package}/{part}".rstrip("/") for part in _LOOKED_INTO] + [f"{package}.libs"]
        folders += [item.name for item in _listed(self._folder) if item.name.endswith(".dist-info")]
        return tuple(f"{folder}/{item.name}" for folder in folders for item in _listed(self._folder / folder))

    def text(self, name: str, most: int) -> bytes | None:
        """A small file."""
        path = self.path(name)
        try:
            if path is None or path.stat().st_size > most:
                return None
            found = path.read_bytes()
        except OSError:
            return None
        self.read_bytes += len(found)
        return found

    def path(self, name: str) -> Path | None:
        """The file itself, where it is a regular one."""
        path = self._folder / name
        try:
            return path if stat.S_ISREG(path.stat().st_mode) else None
        except OSError:
            return None

    def prepare(self, names: Iterable[str]) -> None:
        """Nothing has to be unpacked."""


def find_installed(place: Path) -> InstalledTorch:
    """What is installed at a place: site-packages, the package's own folder, or an environment.

    Raises:
        UsageError: ``like-not-found`` where no torch is there.
    """
    inside = [folder for pattern in _WITHIN for folder in sorted(place.glob(pattern))]
    for folder in (place, place.parent, *inside):
        if next(iter(_libraries(folder)), None) and (
            folder == place or folder in inside or _is_package(place)
        ):
            return InstalledTorch(folder.absolute())
    raise UsageError(
        "like-not-found",
        f"{place}: no torch is installed there",
        why=(
            "seen: no PACKAGE/lib/libtorch.so in it",
            "wanted: site-packages, the folder of torch in it, or the prefix of an environment",
        ),
        fix="Name the folder that torch is installed in, or a wheel, or torch==VERSION.",
    )


def require_torch(files: TorchFiles) -> None:
    """Refuse what holds no torch: of another package its release would be taken for torch's.

    Raises:
        UsageError: ``like-not-found``.
    """
    if not any(map(_LIBRARY.fullmatch, files.names())):
        raise UsageError(
            "like-not-found",
            f"{files.subject}: no torch is in it",
            why=("seen: no PACKAGE/lib/libtorch.so", "wanted: a wheel of torch for Linux"),
            fix="Name a wheel of torch, a folder that it is installed in, or torch==VERSION.",
        )


def _is_package(place: Path) -> bool:
    return any(_LIBRARY.fullmatch(f"{place.name}/lib/{item.name}") for item in _listed(place / "lib"))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(
            item for item in folder.iterdir() if not item.is_dir() or item.name.endswith(".dist-info")
        )
    except OSError:
        return []


def _libraries(folder: Path) -> Iterator[str]:
    """Names of libraries of a torch below a folder."""
    for path in sorted(folder.glob("*/lib/libtorch*.so")):
        name = path.relative_to(folder).as_posix()
        if _LIBRARY.fullmatch(name):
            yield name


def _package(names: Iterable[str]) -> str:
    found = next((match[1] for name in names if (match := _LIBRARY.fullmatch(name))), "")
    return found or "torch"
