"""One stream of events to every renderer."""

from __future__ import annotations

from threading import Thread

from torchbuild.context import Reporter
from torchbuild.report.broadcast import Broadcast
from torchbuild.report.events import Event, Line, Warned
from torchbuild.report.redaction import MASK, Redactor


class Kept:
    """A renderer that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = 0

    def handle(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def close(self) -> None:
        """Count."""
        self.closed += 1


class Broken(Kept):
    """A renderer that fails from its first event on."""

    def handle(self, event: Event) -> None:
        """Fail."""
        super().handle(event)
        raise OSError("No space left; token=S3cr3t-Pa55w0rd")

    def close(self) -> None:
        """Fail."""
        super().close()
        raise ValueError("closed badly")


LINE = Line(stage="compile", text="hello")


def test_every_renderer_hears_what_was_redacted() -> None:
    """No renderer ever sees a secret."""
    first, second = Kept(), Kept()
    reporter: Reporter = Broadcast(Redactor(["S3cr3t-Pa55w0rd"]), [first, second])

    reporter.emit(Line(stage="compile", text="x S3cr3t-Pa55w0rd y"))

    assert first.events == second.events == [Line(stage="compile", text=f"x {MASK} y")]


def test_a_renderer_that_raises_is_left_out_and_said_once() -> None:
    """A full disk under a log costs the log, not the build, and everybody else is told once."""
    broken, good = Broken(), Kept()
    reporter = Broadcast(Redactor(["S3cr3t-Pa55w0rd"]), [broken, good])

    reporter.emit(LINE)
    reporter.emit(LINE)

    said = Warned(
        stage="",
        reference="renderer-failed",
        text=f"Broken is left out from here on: OSError: No space left; token={MASK}",
    )
    assert good.events == [LINE, said, LINE]
    assert (len(broken.events), broken.closed) == (1, 1)


def test_a_build_goes_on_without_any_renderer() -> None:
    """Where all renderers fail there is nobody to tell, and still no error."""
    reporter = Broadcast(Redactor(), [Broken(), Broken()])

    reporter.emit(LINE)
    reporter.emit(LINE)
    reporter.close()


def test_leaving_closes_each_renderer_once() -> None:
    """The terminal and the files are left in order, even where one of them fails to close."""
    kept, broken = Kept(), Broken()

    with Broadcast(Redactor(), [broken, kept]) as reporter:
        reporter.close()

    assert (kept.closed, broken.closed) == (1, 1)


def test_events_of_several_threads_arrive_whole() -> None:
    """Parallel downloads may all report."""
    kept = Kept()
    reporter = Broadcast(Redactor(), [kept])
    threads = [Thread(target=lambda: [reporter.emit(LINE) for _ in range(100)]) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert kept.events == [LINE] * 400
