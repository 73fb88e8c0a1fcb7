"""One stream of events, redacted once, to every renderer."""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from types import TracebackType
from typing import Protocol, Self

from torchbuild.report.events import Event, Warned
from torchbuild.report.redaction import Redactor

__all__ = ["Broadcast", "Renderer"]


class Renderer(Protocol):
    """Shows or keeps events. It sees nothing that was not redacted."""

    def handle(self, event: Event) -> None:
        """Show or keep one event."""
        ...

    def close(self) -> None:
        """Leave the terminal or the file in order. Called once."""
        ...


class Broadcast:
    """The `torchbuild.context.Reporter` of a build. Safe to use from several threads.

    A renderer that raises is left out from then on, and the others are told so once: a full disk
    under a log, or a terminal that went away, is no reason to lose an hour of compiling.

    Args:
        redactor: takes the secrets out of each event.
        renderers: in the order in which they are told.
    """

    def __init__(self, redactor: Redactor, renderers: Iterable[Renderer]) -> None:
        self._redactor = redactor
        self._renderers = list(renderers)
        self._lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def emit(self, event: Event) -> None:
        """Redact, then hand to each renderer."""
        with self._lock:
            self._tell(self._redactor.redact_event(event))

    def close(self) -> None:
        """Close every renderer. What one of them raises is not heard: the build is over."""
        with self._lock:
            renderers, self._renderers = self._renderers, []
            for renderer in renderers:
                _failure_of_close(renderer)

    def _tell(self, event: Event) -> None:
        broken = []
        for renderer in tuple(self._renderers):
            failure = _failure_of(renderer, event)
            if failure is not None:
                broken.append((renderer, failure))
        for renderer, _ in broken:
            self._renderers.remove(renderer)
            _failure_of_close(renderer)
        for renderer, failure in broken:
            self._tell(self._redactor.redact_event(_farewell(renderer, failure)))


def _failure_of(renderer: Renderer, event: Event) -> Exception | None:
    try:
        renderer.handle(event)
    except Exception as error:  # noqa: BLE001  whatever it is, the build goes on
        return error
    return None


def _failure_of_close(renderer: Renderer) -> Exception | None:
    try:
        renderer.close()
    except Exception as error:  # noqa: BLE001  nobody is left to be told
        return error
    return None


def _farewell(renderer: Renderer, failure: Exception) -> Warned:
    name = type(renderer).__name__
    return Warned(
        stage="",
        reference="renderer-failed",
        text=f"{name} is left out from here on: {type(failure).__name__}: {failure}",
    )
