"""What a build did over time: edges by slot, memory, the longest way, what was slow, what a cache gave.

Runs of ninja are laid one after the other: a night between two of them is no part of a build.
"""

from __future__ import annotations

import heapq
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from torchbuild.report.build_graph import BuildGraph
from torchbuild.report.cache_calls import CacheCall, Outcome, outcomes_by_object, source_of
from torchbuild.report.ninja_log import LogEdge, LogRun, NinjaLog
from torchbuild.report.samples import Sample

__all__ = ["Point", "RunSpan", "Span", "Timeline", "Total", "by_folder", "kind_of", "slots", "timeline_of"]

Kind = Literal["object", "device", "link", "other"]
_OBJECTS = (".o", ".obj", ".gch", ".pch")
_DEVICE = (".cu.o", ".cu.obj", ".cubin", ".ptx", ".fatbin")
_LIBRARIES = (".so", ".a", ".exe", ".dll")
_NO_OUTCOMES: Mapping[str, Outcome] = {}


class Span(NamedTuple):
    """One edge on the common axis."""

    output: str
    """What it makes."""
    start: float
    """Seconds since the first run began; what lies between runs is left out."""
    end: float
    """When it ended."""
    slot: int
    """The lane that it ran in, from 0."""
    run: int
    """Which run of ninja, from 0."""
    kind: Kind
    """What sort of work it was."""
    outcome: Outcome | None
    """What the compiler's cache said; None where it was not asked, or nobody can tell."""
    is_last: bool
    """Whether no later run made it again."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


class RunSpan(NamedTuple):
    """One run of ninja on the common axis."""

    start: float
    """Where it begins."""
    end: float
    """Where its last edge ends."""
    edges: int
    """How many it ran."""
    began_ms: int | None
    """When that was, since 1970."""


class Point(NamedTuple):
    """A sample on the common axis."""

    at: float
    """Seconds."""
    sample: Sample
    """What was seen."""


class Total(NamedTuple):
    """Of a folder of the source."""

    folder: str
    """Its path."""
    edges: int
    """How many, each once."""
    seconds: float
    """What they took together, when they were made last."""
    hits: int
    """How many came from the cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """All of it."""

    title: str
    """Of which build."""
    spans: tuple[Span, ...]
    """By their start."""
    runs: tuple[RunSpan, ...]
    """Of ninja, oldest first."""
    points: tuple[Point, ...] = ()
    """By time."""
    longest: tuple[int, ...] = ()
    """Numbers of the spans on the longest way, in order."""
    longest_from: Literal["build.ninja", "order"] = "order"
    """Whence: what waits for what, or only what ended before the next began."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """Calls of the compiler's cache by outcome."""
    ignored: int = 0
    """Lines of the log that say nothing."""

    @property
    def seconds(self) -> float:
        """Wall time of all runs."""
        return sum(run.end - run.start for run in self.runs)

    @property
    def busy(self) -> float:
        """What all edges took together."""
        return sum(span.seconds for span in self.spans)

    @property
    def slots(self) -> int:
        """How many edges ran at once at most."""
        return max((span.slot for span in self.spans), default=-1) + 1

    @property
    def peak_memory(self) -> int | None:
        """The most that was seen; None where nobody looked."""
        return max((point.sample.memory for point in self.points), default=None)

    def slowest(self, most: int = 50) -> list[Span]:
        """Those that took longest, each once."""
        last = (span for span in self.spans if span.is_last)
        return heapq.nlargest(most, last, key=lambda span: span.seconds)


def timeline_of(
    log: NinjaLog,
    *,
    title: str,
    graph: BuildGraph | None = None,
    calls: Sequence[CacheCall] = (),
    samples: Sequence[Sample] = (),
) -> Timeline:
    """Join what is there.

    Args:
        log: of ninja.
        title: of which build.
        graph: who waits for whom; without it the longest way is only a chain in time.
        calls: what the compiler's cache said, of the last run alone.
        samples: what the shim saw.
    """
    runs = tuple(_laid(log.runs))
    latest = log.runs[-1].edges if log.runs else ()
    outcomes = outcomes_by_object(calls, [edge.output for edge in latest])
    spans = sorted(_spans(log, runs, outcomes), key=lambda span: (span.start, span.end))
    longest, whence = _longest(spans, runs, graph)
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.outcome] = counts.get(call.outcome, 0) + 1
    return Timeline(
        title=title,
        spans=tuple(spans),
        runs=runs,
        points=tuple(_points(samples, runs)),
        longest=longest,
        longest_from=whence,
        calls=counts,
        ignored=log.ignored,
    )


def _laid(runs: Iterable[LogRun]) -> Iterator[RunSpan]:
    at = 0.0
    for run in runs:
        length = (run.end_ms - _first(run)) / 1000
        began = None if run.began_ms is None else run.began_ms + _first(run)
        yield RunSpan(at, at + length, len(run.edges), began)
        at += length


def _first(run: LogRun) -> int:
    return min(edge.start_ms for edge in run.edges)


def _spans(log: NinjaLog, runs: Sequence[RunSpan], outcomes: Mapping[str, Outcome]) -> Iterator[Span]:
    last = {edge.output: number for number, run in enumerate(log.runs) for edge in run.edges}
    for number, (run, laid) in enumerate(zip(log.runs, runs, strict=True)):
        first = _first(run)
        told = outcomes if number == len(runs) - 1 else _NO_OUTCOMES
        for edge, slot in zip(run.edges, slots(run.edges), strict=True):
            yield Span(
                output=edge.output,
                start=laid.start + (edge.start_ms - first) / 1000,
                end=laid.start + (edge.end_ms - first) / 1000,
                slot=slot,
                run=number,
                kind=kind_of(edge.output),
                outcome=told.get(edge.output),
                is_last=last[edge.output] == number,
            )


def slots(edges: Sequence[LogEdge]) -> list[int]:
    """The lowest lane that is free when each begins; ninja itself does not number them."""
    found = [0] * len(edges)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    most = 0
    for number in sorted(
        range(len(edges)), key=lambda number: (edges[number].start_ms, edges[number].end_ms)
    ):
        edge = edges[number]
        while busy and busy[0][0] <= edge.start_ms:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            slot = heapq.heappop(free)
        else:
            slot, most = most, most + 1
        found[number] = slot
        heapq.heappush(busy, (edge.end_ms, slot))
    return found


def kind_of(output: str) -> Kind:
    """What sort of work makes this."""
    name = output.rpartition("/")[2]
    if name.endswith(_DEVICE):
        return "device"
    if name.endswith(_OBJECTS):
        return "object"
    return "link" if name.endswith(_LIBRARIES) or ".so." in name else "other"


def _points(samples: Iterable[Sample], runs: Sequence[RunSpan]) -> Iterator[Point]:
    """Where each lies on the common axis; those between runs lie nowhere."""
    for sample in samples:
        for run in runs:
            if run.began_ms is None:
                continue
            at = (sample.at_ms - run.began_ms) / 1000
            if 0 <= at <= run.end - run.start:
                yield Point(run.start + at, sample)
                break


def _longest(
    spans: Sequence[Span], runs: Sequence[RunSpan], graph: BuildGraph | None
) -> tuple[tuple[int, ...], Literal["build.ninja", "order"]]:
    if graph is not None:
        numbers = {
            graph.makers[span.output]: number
            for number, span in enumerate(spans)
            if span.is_last and span.output in graph.makers
        }
        way = graph.longest({edge: spans[number].seconds for edge, number in numbers.items()})
        if way:
            return tuple(numbers[edge] for edge in way), "build.ninja"
    return tuple(_chain(spans, runs)), "order"


def _chain(spans: Sequence[Span], runs: Sequence[RunSpan]) -> list[int]:
    """Back from the end of the longest run: before each the edge that ended last when it began."""
    lengths = [run.end - run.start for run in runs]
    if not lengths:
        return []
    run = lengths.index(max(lengths))
    own = sorted((number for number, span in enumerate(spans) if span.run == run), key=lambda n: spans[n].end)
    way = [own.pop()]
    while own:
        at = own.pop()
        if spans[at].end <= spans[way[-1]].start:
            way.append(at)
    return way[::-1]


def by_folder(timeline: Timeline, *, depth: int = 4) -> list[Total]:
    """What the folders of the source took, the largest first.

    Args:
        timeline: of the build.
        depth: how many parts of a path count.
    """
    found: dict[str, Total] = {}
    for span in timeline.spans:
        if not span.is_last:
            continue
        parts = posixpath.dirname(source_of(span.output)).split("/")
        folder = "/".join(parts[:depth]) or "."
        before = found.get(folder, Total(folder, 0, 0.0, 0))
        hits = before.hits + (span.outcome == "hit")
        found[folder] = Total(folder, before.edges + 1, before.seconds + span.seconds, hits)
    return sorted(found.values(), key=lambda total: (-total.seconds, total.folder))
