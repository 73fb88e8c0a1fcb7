"""Several jobs at a time, all tried to their end: what failed is told once, together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from torchbuild.errors import HostError, TorchbuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Several = Callable[[str, tuple[str, ...], str], TorchbuildError]
    """Makes one error of several: how many of how many, the reason of each, what to do."""

__all__ = ["all_of", "raise_together"]

T = TypeVar("T")


def all_of(
    jobs: Sequence[Callable[[], T]],
    *,
    at_once: int,
    several: Several,
    on_done: Callable[[int], None],
    give_up: Callable[[], None],
) -> list[T]:
    """The result of each job, in order.

    Args:
        jobs: what to do; each in a thread of a pool.
        at_once: how many threads.
        several: makes the error about several of them; see `raise_together`.
        on_done: told the index of each job that ended well; called in the caller's thread.
        give_up: ends what still runs, where the machine cannot go on or the user interrupts.

    Raises:
        TorchbuildError: what `several` makes of several failures; a single one as it was raised.
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
    raise_together([failed[index] for index in sorted(failed)], len(jobs), several)
    return [found[index] for index in range(len(jobs))]


def raise_together(failures: Sequence[TorchbuildError], asked: int, several: Several) -> None:
    """Nothing where nothing failed, a single failure as it was raised, else one error that tells of each.

    Args:
        failures: what failed, in the order asked for.
        asked: how many jobs there were.
        several: makes the error out of "2 of 3", the reasons, and what the first one asks for.
    """
    if len(failures) == 1:
        raise failures[0]
    if failures:
        why = tuple(f"{error.reference}: {error.what}; {'; '.join(error.why)}" for error in failures)
        raise several(f"{len(failures)} of {asked}", why, failures[0].fix)
