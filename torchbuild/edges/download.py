"""Artifacts into the store: from wherever this machine gets them, several at a time, each by its digest."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.edges.together import raise_together
from torchbuild.errors import FetchError, HostError, TorchbuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from torchbuild.context import Store
    from torchbuild.edges.disk_watch import DiskWatch
    from torchbuild.edges.fetch_one import Places
    from torchbuild.edges.locators import MirrorSettings
    from torchbuild.model.artifact import Artifact

__all__ = ["Downloader"]

_AT_ONCE = 4
_LOOK_S = 0.1
"""Seconds between two looks at whether waiting has become pointless."""


class _Meter:
    """Adds up the bytes of all files; one caller at a time reaches the listener."""

    def __init__(self, artifacts: Sequence[Artifact], tell: Callable[[int, int, str], None]) -> None:
        sizes = [artifact.size for artifact in artifacts]
        self._total = 0 if None in sizes else sum(size or 0 for size in sizes)
        self._done: dict[str, int] = {}
        self._tell = tell
        self._lock = threading.Lock()

    def listener(self, artifact: Artifact, stop: _Stop) -> Callable[[int], None]:
        """What to tell how many bytes of `artifact` are here; ends its transfer once `stop` is set."""

        def note(done: int) -> None:
            stop.check()
            with self._lock:
                self._done[artifact.sha256] = done
                self._tell(sum(self._done.values()), self._total, artifact.name)

        return note


class _StoppedError(Exception):
    """Another thread saw the user's Ctrl-C, or a machine that cannot go on."""


class _Stop(threading.Event):
    """Set once going on is pointless; until then it can be made to wait."""

    def __init__(self) -> None:
        super().__init__()
        self._may_go = threading.Event()
        self._may_go.set()

    def pause(self) -> bool:
        """Have whoever checks wait; it always can be."""
        self._may_go.clear()
        return True

    def resume(self) -> None:
        """Let it go on."""
        self._may_go.set()

    def check(self) -> None:
        """Wait while paused; _StoppedError where it is over."""
        while not self._may_go.wait(_LOOK_S) and not self.is_set():
            pass
        if self.is_set():
            raise _StoppedError


class Downloader:
    """Satisfies `torchbuild.context.Network`."""

    def __init__(
        self,
        store: Store,
        cache_dir: Path,
        mirrors: MirrorSettings,
        recipe_dir: Path,
        *,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            store: where whole files go.
            cache_dir: directory of all caches; parts of files lie in ``partial/`` below it.
            mirrors: where this machine gets things.
            recipe_dir: folder of the recipe: ``file:`` locators are relative to it and stay inside.
            pause: how to wait between tries, in seconds; None: the clock.
        """
        self._store = store
        self._cache_dir = cache_dir
        self._mirrors = mirrors
        self._recipe_dir = recipe_dir
        self._pause = pause
        self._tell: Callable[[str], None] = lambda _text: None
        self._unconnected: dict[str, FetchError] = {}
        self.watch: DiskWatch | None = None
        """Has transfers wait while there is too little space, if set."""

    def report_to(self, tell: Callable[[str], None]) -> None:
        """From now on `tell` hears, in one line each, of addresses that were passed over."""
        self._tell = tell

    def fetch(self, artifacts: Sequence[Artifact], on_progress: Callable[[int, int, str], None]) -> None:
        """Bring each into the store; those there are not fetched again.

        All are tried; what failed is raised once, together. What came of a file that failed is kept in the
        cache, and the next call goes on from there.

        Args:
            artifacts: what is wanted.
            on_progress: takes bytes done, bytes in all (0: unknown) and the file's name; called from several
                threads, never from two at once.

        Raises:
            RecipeError: ``locator-invalid``, ``locator-unresolved``, ``file-outside-recipe``,
                ``recipe-file-missing``.
            FetchError: ``not-found``, ``not-reachable``, ``access-refused``, ``tls-failed``,
                ``size-mismatch``, ``digest-mismatch``, ``redirect-refused``, ``address-invalid``,
                ``not-on-index``, ``index-unreadable``; ``artifacts-not-fetched`` for several.
            HostError: ``disk-full``, ``not-writable``, ``no-debian-mirror``, ``no-package-index``.
        """
        once = {artifact.sha256: artifact for artifact in artifacts}
        missing = [artifact for artifact in once.values() if self._store.get(artifact.sha256) is None]
        if not missing:
            return
        from torchbuild.edges.fetch_one import Places  # noqa: PLC0415  a build that has all needs no client
        from torchbuild.edges.web import Web  # noqa: PLC0415

        partial = self._cache_dir / "partial"
        with translated(partial):
            partial.mkdir(parents=True, exist_ok=True)
        stop = _Stop()
        web = Web(pause=self._patience(stop))
        places = Places(
            self._store, partial, self._recipe_dir, self._mirrors, web, self._tell, self._unconnected
        )
        try:
            with self._watched(stop):
                failures = _bring_all(places, missing, _Meter(missing, on_progress), stop)
        finally:
            web.close()
        raise_together(failures, len(missing), _several)

    @contextlib.contextmanager
    def _watched(self, stop: _Stop) -> Iterator[None]:
        """The body, whose transfers stand still while space is low."""
        if self.watch is None:
            yield
            return
        with self.watch.over(stop.pause, stop.resume, stop.set):
            yield

    def _patience(self, stop: _Stop) -> Callable[[float], None]:
        """A pause that ends at once where waiting has become pointless."""

        def wait_or_stop(seconds: float) -> None:
            (self._pause or stop.wait)(seconds)
            stop.check()

        return wait_or_stop


def _bring_all(places: Places, missing: list[Artifact], meter: _Meter, stop: _Stop) -> list[TorchbuildError]:
    """Everything that can be brought; the failures, in the order asked for."""
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetch") as pool:
        jobs = [
            pool.submit(_job, places, artifact, meter.listener(artifact, stop), stop) for artifact in missing
        ]
        try:
            wait(jobs, return_when=FIRST_EXCEPTION)
        finally:
            # By now all is done, or something happened that makes the rest pointless.
            stop.set()
            for job in jobs:
                job.cancel()
    return [error for job in jobs if (error := _outcome(job)) is not None]


def _job(
    places: Places, artifact: Artifact, on_bytes: Callable[[int], None], stop: _Stop
) -> TorchbuildError | None:
    """One file; what only concerns that file is returned, what ends everything is raised."""
    from torchbuild.edges.fetch_one import bring  # noqa: PLC0415  as above

    try:
        stop.check()
        bring(places, artifact, on_bytes)
    except _StoppedError:
        return None
    except HostError:
        raise
    except TorchbuildError as error:
        return error
    return None


def _outcome(job: Future[TorchbuildError | None]) -> TorchbuildError | None:
    return None if job.cancelled() else job.result()


def _several(count: str, why: tuple[str, ...], fix: str) -> FetchError:
    return FetchError("artifacts-not-fetched", f"{count} files could not be fetched", why=why, fix=fix)
