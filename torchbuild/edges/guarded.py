"""Commands without a network, watched from inside: one that asks for it is stopped, with the name it wanted.

A network namespace makes a download fail; only a guard beside the command knows that one was tried. It is
`torchbuild.shim.offline`, copied into the build and run there by the build's own interpreter, so every
executor is guarded alike.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from torchbuild.edges.atomic import remove_tree, translated, write_text
from torchbuild.edges.forwarding import ForwardingExecutor
from torchbuild.edges.offline_report import OfflineRecord, asked_in, network_asked, parse_record
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torchbuild.context import Completed, Executor

__all__ = ["GUARD_FOLDER", "GuardedExecutor"]

GUARD_FOLDER = "guard"
"""Where the guard lies, below the build's root."""
_RECORD = "offline.jsonl"
_PACKAGE = "torchbuild_shim"
_START = f"""import sys

from {_PACKAGE}.offline import main

sys.exit(main())
"""
_LARGEST_RECORD = 1 << 20
_ASKED = 93
"""The guard's exit code where the command asked for a network."""
_EVIDENCE_LINES = 20


@runtime_checkable
class _Sharing(Protocol):
    """An executor that may have no network namespace to give."""

    def share_network(self) -> bool:
        """See `torchbuild.edges.sandboxed.SandboxExecutor`."""
        ...


class GuardedExecutor(ForwardingExecutor):
    """Another executor, its commands without a network guarded; satisfies `torchbuild.context.Executor`.

    A shell is not: a person at a terminal sees for themselves that there is no network.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        python: str,
        root: Path,
        warn: Callable[[str], None],
        endpoints: Sequence[str] = (),
        despite_open_network: bool = False,
    ) -> None:
        """Nothing is laid yet.

        Args:
            executor: what runs the commands.
            python: an interpreter inside the build, 3.8 or later.
            root: the directory that the build sees at the fixed path.
            warn: hears, once, where the kernel does not tell of what a command asks for.
            endpoints: ``HOST:PORT=PATH`` of what may be reached after all: PATH, inside the build, is a
                socket file behind which somebody of ours serves that endpoint and no other.
            despite_open_network: run commands also where neither a namespace nor a filter keeps them from
                the network; the caller answers for that.
        """
        super().__init__(executor)
        self._python, self._warn = python, warn
        self._folder = root / GUARD_FOLDER
        self._endpoints = tuple(endpoints)
        self._despite_open_network = despite_open_network
        self._has_warned = False
        self._is_alone: bool | None = None

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Run to the end, or until it asks for a network, even if its own script would go on.

        Raises:
            StageError: ``network-asked``.
            HostError: what the other raises; ``network-not-isolated``, ``program-missing``,
                ``guard-silent``, and for the guard's files ``disk-full``, ``not-writable``,
                ``file-operation-failed``.
        """
        if command.network != "none":
            return self._executor.run(command, log=log, on_line=on_line, append=append)
        self._settle()
        self._lay()
        guarded = command.model_copy(update={"argv": (*self._guard(), "--", *command.argv)})
        with self._record() as file:
            done = self._executor.run(guarded, log=log, on_line=on_line, append=append)
            record = parse_record(os.pread(file, _LARGEST_RECORD, 0).decode(errors="replace"))
        self._judge(command, done, record)
        return done

    def _guard(self) -> tuple[str, ...]:
        place = f"{BUILD_ROOT}/{GUARD_FOLDER}"
        relays = (f"--relay={endpoint}" for endpoint in self._endpoints)
        # -B: an interpreter that writes its bytecode there would change the tree that others look at.
        alone = ("--alone",) if self._is_alone and not self._despite_open_network else ()
        return (self._python, "-I", "-S", "-B", place, f"--record={place}/{_RECORD}", *alone, *relays)

    def _settle(self) -> None:
        """Find out, once, whether the guard stands alone: no network namespace is to be had here."""
        if self._is_alone is None:
            self._is_alone = isinstance(self._executor, _Sharing) and self._executor.share_network()

    def _lay(self) -> None:
        """Lay the guard where it is not as it was laid: what a build left in its place is not run."""
        with translated(self._folder):
            if not _is_whole(self._folder, _content()):
                remove_tree(self._folder)
                self._folder.mkdir(parents=True)
                for name, text in _content().items():
                    write_text(self._folder / name, text)

    @contextlib.contextmanager
    def _record(self) -> Iterator[int]:
        """The record, made before the command runs: what a build lays in its place is not what is read."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with translated(self._folder), _opened(self._folder) as folder:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_RECORD, dir_fd=folder)
            file = os.open(_RECORD, flags, 0o644, dir_fd=folder)
        try:
            yield file
        finally:
            os.close(file)

    def _judge(self, command: Command, done: Completed, record: OfflineRecord) -> None:
        asked = record.asked
        if not asked and not record.watch and done.exit_code == _ASKED:
            asked = asked_in(done.tail)
        if asked:
            raise network_asked(asked, tail=done.tail[-_EVIDENCE_LINES:], log=str(done.log))
        if record.program_missing:
            raise HostError(
                "program-missing",
                f"{command.expanded().argv[0]}: this program cannot be started",
                why=(
                    f"seen: {record.program_missing}",
                    "wanted: a program that can be executed in the build",
                ),
                fix="Install the program in the builder: on this machine, or in the image of the recipe.",
            )
        if not record.watch:
            raise HostError(
                "guard-silent",
                f"{self.name}: the guard of a command without a network left no word of it",
                why=(f"seen: exit code {done.exit_code}", f"wanted: {_RECORD}, written by {self._python}"),
                fix=f"Check that {self._python} of the builder is a whole Python 3.8 or later; see the log.",
                evidence=done.tail[-_EVIDENCE_LINES:],
                link=str(done.log),
            )
        if record.watch == "none" and self._is_alone and not self._despite_open_network:
            raise _open_network(self.name, record.why_unwatched)
        text = self._warning(record)
        if text and not self._has_warned:
            self._has_warned = True
            self._warn(text)

    def _warning(self, record: OfflineRecord) -> str:
        """What is less than it should be; nothing where all is well."""
        if record.watch == "none" and self._is_alone:
            return "commands that must not have a network have this machine's, as asked for"
        if record.watch == "none":
            return f"what a build asks the network for is refused but not told: {record.why_unwatched}"
        if record.watch == "deny":
            return f"no socket of the build connects, not even to loopback: {record.why_unwatched}"
        return ""


@functools.cache
def _content() -> dict[str, str]:
    """The guard's files, by their place below its folder."""
    shim = (item for item in files("torchbuild.shim").iterdir() if item.name.endswith(".py"))
    laid = {f"{_PACKAGE}/{item.name}": item.read_text(encoding="utf-8") for item in shim}
    return {**laid, "__main__.py": _START}


def _is_whole(folder: Path, content: dict[str, str]) -> bool:
    """Whether it holds these files, as they are, and none beside them that an interpreter could take."""
    try:
        with _opened(folder) as top, _opened(_PACKAGE, top) as package:
            inner = os.listdir(package)  # noqa: PTH208  by descriptor
            names = {*os.listdir(top), *(f"{_PACKAGE}/{name}" for name in inner)}  # noqa: PTH208  the same
            if names - {_RECORD, _PACKAGE} != content.keys() or _is_folder(_RECORD, top):
                return False
            return all(_read(name, top) == text.encode() for name, text in content.items())
    except OSError:
        return False


def _is_folder(name: str, folder: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
    return False


def _read(name: str, folder: int) -> bytes | None:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(file, "rb") as handle:
        return handle.read() if stat.S_ISREG(os.fstat(handle.fileno()).st_mode) else None


@contextlib.contextmanager
def _opened(folder: Path | str, within: int | None = None) -> Iterator[int]:
    """A directory itself, not where a link in its place leads."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(folder, flags, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_network(name: str, why: str) -> HostError:
    return HostError(
        "network-not-isolated",
        f"{name}: this machine can keep no command from its network",
        why=(
            "seen: no network namespace is given",
            f"seen: the kernel filters no calls ({why})",
            "wanted: one of the two, so that nothing can be fetched in the middle of a build",
        ),
        fix="Allow network namespaces on this machine; or build with `--despite open-network`, and the wheel "
        "is only as pinned as its tree is honest.",
    )
