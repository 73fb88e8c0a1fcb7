"""Artifacts into the store: from wherever this machine gets them, several at a time, each by its digest."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.edges.together import raise_together
from torchbuild.edges.transfers import Meter, Stop, bring_all
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torchbuild.context import Store
    from torchbuild.edges.disk_watch import DiskWatch
    from torchbuild.edges.fetch_one import Places
    from torchbuild.edges.locators import MirrorSettings
    from torchbuild.model.artifact import Artifact

__all__ = ["Downloader", "several"]


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
        self.store = store
        """Where whole files go."""
        self.cache = cache_dir
        """Directory of all caches."""
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
        missing = [artifact for artifact in once.values() if self.store.get(artifact.sha256) is None]
        if not missing:
            return
        from torchbuild.edges.fetch_one import bring  # noqa: PLC0415  a build that has all needs no client

        meter = Meter([(artifact.sha256, artifact.size) for artifact in missing], on_progress)
        with self.opened() as (places, stop):
            jobs = [
                partial(bring, places, artifact, meter.listener(artifact.sha256, artifact.name, stop))
                for artifact in missing
            ]
            failures = bring_all(jobs, stop)
        raise_together(failures, len(missing), several)

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[Places, Stop]]:
        """The places of this machine with connections that end with the body, and what stops or pauses all.

        Raises:
            HostError: ``not-writable``, ``disk-full``.
        """
        from torchbuild.edges.fetch_one import Places  # noqa: PLC0415  as above
        from torchbuild.edges.web import Web  # noqa: PLC0415  as above

        parts = self.cache / "partial"
        with translated(parts):
            parts.mkdir(parents=True, exist_ok=True)
        stop = Stop()
        web = Web(pause=self._patience(stop))
        try:
            with self._watched(stop):
                yield (
                    Places(
                        self.store, parts, self._recipe_dir, self._mirrors, web, self._tell, self._unconnected
                    ),
                    stop,
                )
        finally:
            web.close()

    @contextlib.contextmanager
    def _watched(self, stop: Stop) -> Iterator[None]:
        """The body, whose transfers stand still while space is low."""
        if self.watch is None:
            yield
            return
        with self.watch.over(stop.pause, stop.resume, stop.set):
            yield

    def _patience(self, stop: Stop) -> Callable[[float], None]:
        """A pause that ends at once where waiting has become pointless."""

        def wait_or_stop(seconds: float) -> None:
            (self._pause or stop.wait)(seconds)
            stop.check()

        return wait_or_stop


def several(count: str, why: tuple[str, ...], fix: str) -> FetchError:
    """One error of several."""
    return FetchError("artifacts-not-fetched", f"{count} files could not be fetched", why=why, fix=fix)
