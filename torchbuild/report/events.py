"""What happens during a build, as values. Meaning is here; looks are in the renderers.

Every event passes `torchbuild.report.redaction` before any renderer sees it.
"""

from __future__ import annotations

from typing import Literal

from torchbuild.model.finding import Finding
from torchbuild.model.frozen import Frozen

__all__ = [
    "Activity",
    "Event",
    "Found",
    "Line",
    "Progress",
    "RunFinished",
    "RunStarted",
    "Running",
    "StageFinished",
    "StageStarted",
    "Warned",
]


class RunStarted(Frozen):
    """A build begins."""

    kind: Literal["run-started"] = "run-started"
    run: str
    """The run's name, which ``torchbuild shell`` takes."""
    recipe: str
    """The recipe's name."""
    stages: tuple[str, ...]
    """What will run, in order."""
    workspace: str
    """The run's directory on this machine."""


class StageStarted(Frozen):
    """A stage begins."""

    kind: Literal["stage-started"] = "stage-started"
    stage: str
    """The stage's name."""
    log: str = ""
    """Its complete log."""


class Progress(Frozen):
    """How far a stage is. `total` is 0 while nobody can know it."""

    kind: Literal["progress"] = "progress"
    stage: str
    """The stage's name."""
    done: int
    """Units done."""
    total: int
    """Units in all, or 0."""
    unit: str
    """``edges``, ``bytes``, ``files`` or ``checks``."""
    what: str = ""
    """What is being done now."""
    left_s: float | None = None
    """Seconds that are left, by what the stage knows of its units; None where it knows nothing."""


class Running(Frozen):
    """An edge that runs now."""

    name: str
    """What it makes, or the program."""
    seconds: float
    """For how long."""
    waits: bool = False
    """Whether it waits for memory, and does nothing yet."""


class Activity(Frozen):
    """What goes on at this moment, beside how far it is. What nobody knows is None."""

    kind: Literal["activity"] = "activity"
    stage: str
    """The stage's name."""
    edges: tuple[Running, ...] = ()
    """Those that run, longest first; the first dozen."""
    running: int = 0
    """How many there are, those that wait included."""
    waiting: int = 0
    """How many wait for memory."""
    tokens: int | None = None
    """Jobs that run."""
    jobs: int | None = None
    """Jobs that may run at once."""
    memory: int | None = None
    """Bytes in use, of the machine or of the smallest limit on the build."""
    memory_total: int | None = None
    """Bytes that there are."""
    cache_hits: int | None = None
    """What came out of the compiler's cache so far."""
    cache_calls: int | None = None
    """How often it was asked."""
    left_s: float | None = None
    """As `Progress.left_s`: an edge that takes longer than was thought moves the end."""


class Line(Frozen):
    """A line that a tool printed and that a person watching would want."""

    kind: Literal["line"] = "line"
    stage: str
    """The stage's name."""
    text: str
    """The line."""


class Warned(Frozen):
    """Something a person should know; ``--strict`` would make it an error."""

    kind: Literal["warned"] = "warned"
    stage: str
    """The stage's name, or empty."""
    reference: str
    """kebab-case name."""
    text: str
    """One line."""


class Found(Frozen):
    """A check's outcome."""

    kind: Literal["found"] = "found"
    stage: str
    """The stage's name."""
    finding: Finding
    """What the check saw."""


class StageFinished(Frozen):
    """A stage is over."""

    kind: Literal["stage-finished"] = "stage-finished"
    stage: str
    """The stage's name."""
    outcome: Literal["done", "reused", "failed", "stopped"]
    """``reused``: done by an earlier run and intact. ``stopped``: ended as the caller asked."""
    seconds: float
    """Wall time."""
    summary: str = ""
    """One line: what came out."""


class RunFinished(Frozen):
    """The build is over."""

    kind: Literal["run-finished"] = "run-finished"
    run: str
    """The run's name."""
    outcome: Literal["done", "failed", "stopped"]
    """How it ended."""
    seconds: float
    """Wall time."""
    wheel: str = ""
    """The wheel's path, where there is one."""
    report: str = ""
    """``report.json``."""


Event = RunStarted | StageStarted | Progress | Activity | Line | Warned | Found | StageFinished | RunFinished
