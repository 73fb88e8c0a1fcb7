"""A build waits where the disk runs full, instead of dying of it an hour in.

A thread looks at the free space of the file systems that a build writes to. Below a floor what runs is
paused and somebody is told what to do; once there is space again it goes on, and nothing was lost. Where
nobody comes, it ends: a job of a CI system must say why it stands still before it is taken away.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from typing import TYPE_CHECKING

from torchbuild.edges.paused import PausedContainer, PausedTree
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["DiskWatch"]

_INTERVAL_S = 0.25
_MIB, _GIB = 1 << 20, 1 << 30


class DiskWatch:
    """Watches while a command runs. One watch serves any number of commands, one after another."""

    def __init__(
        self,
        places: Sequence[Path],
        floor: int,
        *,
        patience_s: float = 0,
        taken: Callable[[], Sequence[str]] = tuple,
        interval_s: float = _INTERVAL_S,
    ) -> None:
        """Nothing is looked at yet.

        Args:
            places: directories that a build writes to; each file system is looked at once.
            floor: bytes that must be free on each, for whoever has no privileges; 0 watches nothing.
            patience_s: seconds after which what waits is ended; 0 waits for ever.
            taken: what could be removed, one line each, for who reads why the build ended.
            interval_s: seconds between two looks.
        """
        self._places = tuple(places)
        self._floor = floor
        self._patience_s = patience_s or math.inf
        self._taken = taken
        self._interval_s = interval_s
        self._gave_up: tuple[Path, int] | None = None
        self.is_paused = False
        """Whether what runs stands still."""
        self._tell: Callable[[str, bool], None] = lambda _text, _is_low: None

    def report_to(self, tell: Callable[[str, bool], None]) -> None:
        """From now on `tell` hears one line for each pause and each going on, and whether space is low."""
        self._tell = tell

    @contextlib.contextmanager
    def over_tree(self, pid: int) -> Iterator[None]:
        """Watch during the body; pause a process of this machine with all that it started."""
        tree = PausedTree(pid)
        with self.over(tree.pause, tree.resume, tree.end):
            yield

    @contextlib.contextmanager
    def over_container(self, engine: str, name: str) -> Iterator[None]:
        """Watch during the body; pause an engine's container."""
        container = PausedContainer(engine, name)
        with self.over(container.pause, container.resume, container.end):
            yield

    @contextlib.contextmanager
    def over(
        self,
        pause: Callable[[], bool],
        resume: Callable[[], None],
        end: Callable[[], None] = lambda: None,
    ) -> Iterator[None]:
        """Watch during the body. What is paused when the body ends is resumed: only so can it be ended.

        Args:
            pause: stops what writes, and says whether it could; called again while space is low, for what has
                begun meanwhile.
            resume: lets it go on.
            end: kills it, where it waited longer than anybody has patience.

        Raises:
            HostError: ``disk-full``, where it was ended; whatever the body says of that end.
        """
        if self._floor <= 0:
            yield
            return
        ended = threading.Event()
        self._gave_up = None
        watch = threading.Thread(
            target=self._watch, args=(ended, pause, resume, end), name="disk-watch", daemon=True
        )
        watch.start()
        try:
            yield
        except Exception as error:
            _join(watch, ended)
            if self._gave_up is not None:
                raise self._full(*self._gave_up) from error
            raise
        finally:
            _join(watch, ended)
        if self._gave_up is not None:
            raise self._full(*self._gave_up)

    def _watch(
        self,
        ended: threading.Event,
        pause: Callable[[], bool],
        resume: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        while not ended.wait(self._interval_s):
            low = self._low()
            if low is None:
                continue
            place, free = low
            self.is_paused = pause()
            self._tell(self._advice(place, free, is_paused=self.is_paused), True)
            until = time.monotonic() + self._patience_s if self.is_paused else math.inf
            try:
                while not ended.wait(self._interval_s) and self._low() is not None:
                    if time.monotonic() >= until:
                        self._gave_up = low
                        end()
                        return
                    pause()
            finally:
                resume()
                self.is_paused = False
            if not ended.is_set():
                self._tell(f"there is space again on the file system of {place}: the build goes on", False)

    def _low(self) -> tuple[Path, int] | None:
        """The first place whose file system has less than the floor, and what it has."""
        seen: set[int] = set()
        for place in self._places:
            with contextlib.suppress(OSError):  # not made yet, or not ours to look at
                device = place.stat().st_dev
                if device in seen:
                    continue
                seen.add(device)
                state = os.statvfs(place)
                free = state.f_bavail * state.f_frsize
                if free < self._floor:
                    return place, free
        return None

    def _advice(self, place: Path, free: int, *, is_paused: bool) -> str:
        state = "the build waits" if is_paused else "the build cannot be paused and runs on"
        return (
            f"{state}: {_size(free)} are free on the file system of {place}, less than"
            f" machine.disk_floor, {_size(self._floor)}; free some meanwhile: `torchbuild store gc` removes"
            " what no lock needs, `torchbuild clean RUN` another run; Ctrl-C ends this one"
            + ("" if math.isinf(self._patience_s) else f", and so do {self._patience_s:g} s of waiting")
        )

    def _full(self, place: Path, free: int) -> HostError:
        return HostError(
            "disk-full",
            f"{place}: no space came back on its file system in {self._patience_s:g} s of waiting",
            why=(
                f"seen {_size(free)} free, wanted machine.disk_floor, {_size(self._floor)}",
                "machine.disk_patience_s says how long a build waits",
                *self._taken(),
            ),
            fix="Remove what is listed: `torchbuild store gc`, `torchbuild clean RUN`; then run the same"
            " command again: what was built is kept.",
        )


def _join(watch: threading.Thread, ended: threading.Event) -> None:
    ended.set()
    watch.join()


def _size(count: int) -> str:
    return f"{count / _GIB:.1f} GiB" if count >= _GIB else f"{count / _MIB:.1f} MiB"
