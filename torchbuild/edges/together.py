"""Several jobs at a time, all tried to their end: what failed is told once, together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from torchbuild.errors import FetchError, HostError, TorchbuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["all_of"]

T = TypeVar("T")


def all_of(
    jobs: Sequence[Callable[[], T]],
    *,
    at_once: int,
    what: str,
    on_done: Callable[[int], None],
    give_up: Callable[[], None],
) -> list[T]:
    """The result of each job, in order.

    Args:
        jobs: what to do; each in a thread of a pool.
        at_once: how many threads.
        what: what the jobs bring, in the plural, for the error about several of them.
        on_done: told the index of each job that ended well; called in the caller's thread.
        give_up: ends what still runs, where the machine cannot go on or the user interrupts.

    Raises:
        FetchError: ``several-not-fetched`` for several failures; a single one as it was raised.
        HostError: the first one, without waiting for the others.
    """
    found: dict[int, T] = {}
    failed: dict[int, TorchbuildError] = {}
    with ThreadPoolExecutor(at_once, thread_name_prefix="fetch") as pool:
        futures = {pool.submit(job): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                try:
                    found[futures[future]] = future.result()
                except HostError:
                    raise
                except TorchbuildError as error:
                    failed[futures[future]] = error
                else:
                    on_done(futures[future])
        except BaseException:
            for future in futures:
                future.cancel()
            give_up()
            raise
    _raise_together([failed[index] for index in sorted(failed)], len(jobs), what)
    return [found[index] for index in range(len(jobs))]


def _raise_together(failures: list[TorchbuildError], asked: int, what: str) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise FetchError(
            "several-not-fetched",
            f"{len(failures)} of {asked} {what} could not be fetched",
            why=tuple(f"{error.reference}: {error.what}; {'; '.join(error.why)}" for error in failures),
            fix=failures[0].fix,
        )
