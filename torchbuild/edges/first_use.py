"""Files whose digest nobody publishes, trusted on first use, and publishers' small documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from torchbuild.edges.download import several
from torchbuild.edges.first_seen import FirstSeen
from torchbuild.edges.together import raise_together
from torchbuild.edges.transfers import Meter, Stop, bring_all
from torchbuild.errors import FetchError
from torchbuild.model.artifact import Artifact, file_name, locator_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from torchbuild.edges.download import Downloader
    from torchbuild.edges.fetch_one import Places

__all__ = ["MOST_OF_A_DOCUMENT", "FirstUse", "SeenFiles"]

MOST_OF_A_DOCUMENT = 16 << 20
"""Bytes that a document may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenFiles:
    """What files turned out to be."""

    artifacts: dict[str, Artifact]
    """By locator, each with digest and size."""
    unpinned: tuple[str, ...]
    """A sentence for each whose digest nobody named, for the lock and whoever reads it."""


class FirstUse:
    """Asks at lock time, with the parts, mirrors and patience of a downloader."""

    def __init__(self, downloads: Downloader) -> None:
        """Nothing is opened yet."""
        self._downloads = downloads
        self._seen = FirstSeen(downloads.cache)

    def files(self, asked: Mapping[str, str], on_progress: Callable[[int, int, str], None]) -> SeenFiles:
        """Bring each into the store; digest and size are those of its bytes.

        What was seen on this machine before is what it must be again, and is not fetched again while the
        store holds it. What a killed run brought of a file is gone on with where the server vouches for it.

        Args:
            asked: by locator the digest that the recipe or the publisher names, or an empty text. A file of
                the recipe (``file:``) is what it is now: nothing is remembered of it, and nothing said.
            on_progress: as for `torchbuild.edges.download.Downloader.fetch`; the total is known once each
                server said how long its file is.

        Raises:
            RecipeError, FetchError, HostError: as `Downloader.fetch`; FetchError ``length-unknown``,
                ``not-the-file``, ``first-use-changed``.
        """
        known = {locator: sha256 or self._digest_of(locator) for locator, sha256 in asked.items()}
        digests = {locator: sha256 for locator, sha256 in known.items() if self._has(sha256)}
        missing = [locator for locator in asked if locator not in digests]
        if missing:
            self._bring(missing, asked, known, digests, on_progress)
        return SeenFiles(
            artifacts={locator: self._artifact(locator, digests[locator]) for locator in asked},
            unpinned=tuple(_unpinned(item) for item in sorted(asked) if _is_first_use(item, asked[item])),
        )

    def documents(self, locators: Iterable[str]) -> dict[str, str]:
        """The text of each, by locator. They are read anew each time, and kept nowhere.

        Raises:
            RecipeError: ``locator-invalid``, ``locator-unresolved``.
            FetchError: ``document-too-long``, ``document-unreadable``, and those of an address;
                ``artifacts-not-fetched`` for several.
            HostError: ``disk-full``, ``not-writable``.
        """
        once = tuple(dict.fromkeys(locators))
        texts: dict[str, str] = {}
        if not once:
            return texts
        from torchbuild.edges.fetch_one import read_text  # noqa: PLC0415  who asks nothing needs no client

        def read(places: Places, locator: str) -> None:
            texts[locator] = read_text(places, locator, MOST_OF_A_DOCUMENT)

        with self._downloads.opened() as (places, stop):
            failures = bring_all([partial(read, places, locator) for locator in once], stop)
        raise_together(failures, len(once), several)
        return {locator: texts[locator] for locator in once}

    def _digest_of(self, locator: str) -> str:
        """What it was when it was first seen; empty where it was not."""
        seen = self._seen.get(locator) if _is_first_use(locator) else None
        return seen.sha256 if seen is not None else ""

    def _has(self, sha256: str) -> bool:
        return bool(sha256) and self._downloads.store.get(sha256) is not None

    def _artifact(self, locator: str, sha256: str) -> Artifact:
        path = self._downloads.store.get(sha256)
        if path is None:
            raise FetchError(
                "stored-file-gone",
                f"sha256 {sha256} is not in the store",
                why="seen nothing under this digest; it was there a moment ago",
                fix="Run the same command again, and no other that cleans the store meanwhile.",
            )
        return Artifact(locator=locator, sha256=sha256, size=path.stat().st_size)

    def _bring(
        self,
        missing: list[str],
        asked: Mapping[str, str],
        known: Mapping[str, str],
        digests: dict[str, str],
        on_progress: Callable[[int, int, str], None],
    ) -> None:
        """Fetch what is missing, several at a time, and note the digest of each."""
        meter = Meter([(locator, None) for locator in missing], on_progress)

        def bring(places: Places, stop: Stop, locator: str) -> None:
            from torchbuild.edges.fetch_one import Sought, bring_sought  # noqa: PLC0415  as above

            sought = Sought(
                locator,
                meter.listener(locator, file_name(locator), stop),
                known[locator],
                promised="named" if asked[locator] else "first seen",
                on_total=partial(meter.learn, locator),
            )
            try:
                digests[locator] = bring_sought(places, sought)
            except FetchError as error:
                if error.reference != "digest-mismatch" or asked[locator]:
                    raise
                raise self._changed(locator, error) from error
            if _is_first_use(
                locator, asked[locator]
            ):  # at once: what else fails must not have it fetched again
                self._seen.note(self._artifact(locator, digests[locator]))

        with self._downloads.opened() as (places, stop):
            failures = bring_all([partial(bring, places, stop, locator) for locator in missing], stop)
        raise_together(failures, len(missing), several)

    def _changed(self, locator: str, error: FetchError) -> FetchError:
        record = self._seen.place(locator)
        return FetchError(
            "first-use-changed",
            f"{locator}: other bytes than when it was first used here",
            why=(*error.why, f"first use: {record}"),
            fix=f"Find out why they changed; then name sha256 in the recipe, or remove {record}.",
        )


def _is_first_use(locator: str, sha256: str = "") -> bool:
    """Whether nobody vouches for the bytes: no digest, and not the recipe's own file."""
    return not sha256 and locator_kind(locator) != "file"


def _unpinned(locator: str) -> str:
    return f"{locator}: digest computed from the bytes seen on first use; the publisher names none"
