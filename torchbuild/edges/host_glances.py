"""Many looks at once, each in a thread of its own: one that hangs costs its own answer and nobody else's.

What looks has to bear that nobody waits for it any more. Files on a mount whose server is gone, drivers and
daemons can hold a thread for ever; the threads are such that a program ends all the same.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from torchbuild.errors import TorchbuildError
from torchbuild.model.host import Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

__all__ = ["Glance", "Glances", "its_word"]

T = TypeVar("T")
Item = TypeVar("Item")

_MARGIN_S = 0.3
"""What a program is ended before the time is up, so that what is known of it is told."""
_LAST_MOMENT_S = 0.05
_FAREWELL_S = 0.5
"""What a program that is ended because nobody waits for it any more may take for it."""


class Glance(Generic[T]):
    """One look that was begun."""

    def __init__(self, what: str, look: Callable[[], T], blank: T, glances: Glances) -> None:
        """Start it."""
        self._what, self._look, self._blank, self._glances = what, look, blank, glances
        self._seen: list[T] = []
        self._bug: BaseException | None = None
        self._is_given_up = False
        self._over = threading.Event()
        threading.Thread(target=self._run, daemon=True, name=f"look at {what}").start()

    def _run(self) -> None:
        try:
            self._seen.append(self._look())
        except (OSError, ValueError, TorchbuildError) as error:
            self._glances.unseen(self._what, its_word(error))
        except BaseException as error:  # noqa: BLE001  raised again where the result is asked for
            self._bug = error
        finally:
            self._over.set()

    def result(self, within_s: float | None = None) -> T:
        """What was seen; the blank, noted as unseen, where there is no answer in time.

        Args:
            within_s: seconds from now; None for all the time that is left.
        """
        left = self._glances.left()
        limit = left if within_s is None else min(left, within_s)
        if self._is_given_up:
            return self._blank
        if not self._over.wait(max(limit, _LAST_MOMENT_S)):
            self._is_given_up = True
            self._glances.unseen(self._what, f"no answer in {self._glances.spent():.1f} s")
            return self._blank
        if self._bug is not None:
            raise self._bug
        return self._seen[0] if self._seen else self._blank

    def ends_by(self, moment: float) -> bool:
        """Whether the thread is over at that moment of the monotonic clock; waits until then."""
        return self._over.wait(max(0.0, moment - time.monotonic()))


class Glances:
    """Begins looks, and keeps what could not be seen. Left, it ends the programs that still run."""

    def __init__(self, patience_s: float) -> None:
        """Nothing is looked at yet; the time runs from here."""
        self._begun = time.monotonic()
        self._patience_s = patience_s
        self._unseen: list[Unseen] = []
        self._is_over = False
        self._lock = threading.Lock()
        self._begun_ones: list[Glance[Any]] = []
        self.until, self._open = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        os.close(self._open)  # whoever waits for a program reads the end of this pipe, and ends it
        ends = time.monotonic() + _FAREWELL_S
        late = [glance for glance in self._begun_ones if not glance.ends_by(ends)]
        if not late:  # else it stays: its number must not come to name another file
            os.close(self.until)

    def begin(self, what: str, look: Callable[[], T], blank: T) -> Glance[T]:
        """Start a look in a thread.

        Args:
            what: its name in `Unseen`.
            look: an `OSError`, a `ValueError` or an error of ours that it raises is noted as the reason.
            blank: the result where there is none.
        """
        glance = Glance(what, look, blank, self)
        self._begun_ones.append(glance)
        return glance

    def each(
        self,
        what: str,
        items: Iterable[Item],
        look: Callable[[Item], T],
        blank: Callable[[Item], T],
        name: Callable[[Item], str] = str,
    ) -> Sequence[Glance[T]]:
        """Start a look at each item, all at once; `name` tells one from the other in `Unseen`."""
        return [self.begin(f"{what} {name(item)}", partial(look, item), blank(item)) for item in items]

    def unseen(self, what: str, why: str) -> None:
        """Note what could not be looked at."""
        with self._lock:
            if not self._is_over:
                self._unseen.append(Unseen(what=what, why=why))

    def noted(self) -> tuple[Unseen, ...]:
        """All that was noted, in the order of its names."""
        with self._lock:
            return tuple(sorted(set(self._unseen), key=lambda item: (item.what, item.why)))

    def spent(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    def left(self) -> float:
        """Seconds until the time is up."""
        return max(0.0, self._patience_s - self.spent())

    def for_programs(self) -> float:
        """Seconds that a program gets which is started now."""
        return max(_LAST_MOMENT_S, self.left() - _MARGIN_S)


def its_word(error: Exception) -> str:
    """Why, in one line."""
    if isinstance(error, TorchbuildError):
        said = [line.strip() for line in error.evidence if line.strip()]
        return (said[-1:] or [line.removeprefix("seen: ") for line in _seen(error)] or [error.what])[-1][:300]
    with contextlib.suppress(AttributeError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)  # type: ignore[attr-defined]
    return str(error)[:300]


def _seen(error: TorchbuildError) -> list[str]:
    return [line for line in error.why if line.startswith("seen: ")]
