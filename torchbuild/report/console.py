"""Events as a live view for a person at a terminal.

What runs stands at the bottom and is drawn again several times a second; what is over stays above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TextIO

from torchbuild.report.activity_text import edge_text, facts_text
from torchbuild.report.events import (
    Activity,
    Event,
    Found,
    Line,
    Progress,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    Warned,
)
from torchbuild.report.pace import Pace
from torchbuild.report.plain import amount, finding_text, finished_text, marks_for, warned_text
from torchbuild.report.text import duration, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from torchbuild.report.broadcast import Renderer

__all__ = ["LiveConsole", "is_live", "live_console"]

_REFRESHES_PER_SECOND = 4
_WIDE, _WIDE_BAR = 100, 24
_NARROW, _NARROW_BAR = 60, 12
_MOST_EDGES, _OTHER_LINES = 4, 8
"""Edges that are shown, and lines of a terminal that are left to what stays above."""
_STYLES = {"done": "green", "reused": "cyan", "failed": "bold red", "stopped": "yellow"}
_SPINNER = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


def is_live(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a person with a terminal that can be redrawn is watching.

    ``NO_COLOR`` and ``CI`` (unless ``false`` or ``0``) say no, and so does ``TERM=dumb``.
    """
    if not stream.isatty() or environ.get("TERM", "") in ("", "dumb"):
        return False
    return not environ.get("NO_COLOR") and environ.get("CI", "").lower() in ("", "0", "false")


def live_console(stream: TextIO, clock: Callable[[], float]) -> Renderer:
    """The live view, whatever the stream is."""
    from rich.console import Console  # noqa: PLC0415  slow to import, needed at a terminal only

    return LiveConsole(Console(file=stream, highlight=False, markup=False, emoji=False), clock)


class LiveConsole:
    """A renderer that redraws.

    Args:
        console: of rich, for a terminal.
        clock: seconds that only grow.
        refresh: whether a thread of its own redraws, so that the time goes on.
    """

    def __init__(self, console: Console, clock: Callable[[], float], *, refresh: bool = True) -> None:
        from rich.live import Live  # noqa: PLC0415  slow to import, needed at a terminal only

        self._console = console
        self._clock = clock
        self._marks = marks_for(console.encoding)
        self._fancy = self._marks["done"] == "✓"
        self._width = 0
        self._stage: StageStarted | None = None
        self._since = 0.0
        self._progress: Progress | None = None
        self._activity: tuple[Activity, float] | None = None
        self._pace = Pace(clock)
        self._passed = 0
        self._live = Live(
            console=console,
            get_renderable=self.now,
            refresh_per_second=_REFRESHES_PER_SECOND,
            auto_refresh=refresh,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def handle(self, event: Event) -> None:
        """Take the event in, and keep its line above the live part if it has one."""
        match event:
            case RunStarted():
                self._width = max((len(stage) for stage in event.stages), default=0)
                self._keep(f"{event.run}  ", (printable(event.workspace), "dim"))
                self._live.start()
            case StageStarted():
                self._stage, self._since = event, self._clock()
                self._progress, self._activity = None, None
                self._passed, self._pace = 0, Pace(self._clock)
            case Progress() | Activity():
                self._moved(event)
            case Line():
                self._keep(("  " + printable(event.text), "dim"))
            case Warned():
                self._keep((f"{self._marks['warned']} {warned_text(event)}", "yellow"))
            case Found():
                self._found(event)
            case StageFinished():
                self._stage = None
                self.draw()  # or what has ended would be drawn once more below its own line
                mark = f"{self._marks[event.outcome]} {event.stage:{self._width}}"
                self._keep((mark, _STYLES[event.outcome]), "  " + finished_text(event, self._passed))
            case RunFinished():
                self._last(event)

    def _moved(self, event: Progress | Activity) -> None:
        match event:
            case Progress():
                self._pace.note(event)
                self._progress = event
            case Activity():
                self._activity = event, self._clock()
                if not event.running:  # ninja has ended; how long the rest takes nobody has said
                    self._pace = Pace(self._clock)
                elif event.left_s is not None:
                    self._pace.promise(event.left_s)

    def draw(self) -> None:
        """Draw the live part anew, as the thread does four times a second."""
        self._live.refresh()

    def close(self) -> None:
        """Take the live part away and give the cursor back."""
        self._live.stop()

    def now(self) -> Text:
        """The live part: what runs, for how long, how far, and what is done at this moment."""
        from rich.text import Text  # noqa: PLC0415  slow to import, needed at a terminal only

        # the drawing thread reads these while events change them: take each once
        stage, progress, activity = self._stage, self._progress, self._activity
        if stage is None:
            return Text("")
        elapsed = self._clock() - self._since
        spin = _SPINNER[int(elapsed * _REFRESHES_PER_SECOND) % len(_SPINNER)]
        sign = spin if self._fancy else ">"
        text = Text.assemble((f"{sign} {stage.stage:{self._width}}", "bold"), f"  {duration(elapsed)}")
        if progress is not None:
            said = f"  {amount(progress)}" + self._pace_text(progress)
            if len(text) + len(said) >= self._console.width:
                said = said.replace(" edges", "")
            self._add_bar(text, progress, len(said))
            text.append(said)
            if activity is None or not activity[0].edges:  # else those that run stand below
                self._add_what(text, printable(progress.what))
        lines = [text, *(Text(line, "dim") for line in self._below(progress, activity))]
        for line in lines:
            line.truncate(max(self._console.width - 1, 1), overflow="ellipsis")
        shown = Text("\n").join(lines)
        shown.no_wrap = True
        return shown

    def _below(self, progress: Progress | None, activity: tuple[Activity, float] | None) -> list[str]:
        """Jobs, memory and cache; the edges that run longest. A low terminal keeps room for what stays."""
        room = min(_MOST_EDGES, self._console.height - _OTHER_LINES)
        if activity is None or room < 0:
            return []
        event, at = activity
        left = self._pace.text(progress) if progress and self._console.width < _NARROW else ""
        facts = ", ".join(part for part in (left, facts_text(event)) if part)
        since = self._clock() - at
        edges = [edge_text(edge, since, max(self._console.width - 18, 8)) for edge in event.edges[:room]]
        return ([f"  {facts}"] if facts else []) + [f"  {edge}" for edge in edges]

    def _add_bar(self, text: Text, progress: Progress, more: int) -> None:
        """Where there is room: how long it takes says more than a picture of it."""
        if progress.unit != "edges" or not progress.total or self._console.width < _NARROW:
            return
        length = _WIDE_BAR if self._console.width >= _WIDE else _NARROW_BAR
        if len(text) + length + 2 + more >= self._console.width:
            return
        full = min(length * progress.done // progress.total, length)
        done, rest = ("━", "━") if self._fancy else ("#", "-")
        text.append("  ").append(done * full, "green").append(rest * (length - full), "bright_black")

    def _pace_text(self, progress: Progress) -> str:
        """How fast bytes come, how long edges take; a narrow terminal keeps its room for the name."""
        speed = self._pace.text(progress) if self._console.width >= _NARROW else ""
        return f"  {speed}" if speed else ""

    def _add_what(self, text: Text, what: str) -> None:
        """What is done now; where that is too long, its last part says most: the file's name."""
        if len(text) + len(what) + 3 > self._console.width:
            what = what.rpartition("/")[2]
        if what:
            text.append(f"  {what}", "dim")

    def _found(self, event: Found) -> None:
        outcome = event.finding.outcome
        if outcome == "passed":
            self._passed += 1
            return
        mark = self._marks["found" if outcome == "failed" else outcome]
        style = {"failed": "red", "warned": "yellow"}.get(outcome, "dim")
        self._keep((f"  {mark} {finding_text(event)}", style))

    def _last(self, event: RunFinished) -> None:
        self.close()
        self._keep(
            (f"{self._marks[event.outcome]} {event.run}", _STYLES[event.outcome]),
            f"  {duration(event.seconds)}",
        )
        enter = f"torchbuild shell {event.run}" if event.outcome == "failed" else ""
        for label, value in (("wheel ", event.wheel), ("report", event.report), ("enter ", enter)):
            if value:
                self._keep((f"  {label}  ", "dim"), printable(value))

    def _keep(self, *parts: str | tuple[str, str]) -> None:
        from rich.text import Text  # noqa: PLC0415  slow to import, needed at a terminal only

        self._console.print(Text.assemble(*parts), soft_wrap=True)
