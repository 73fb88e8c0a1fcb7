"""A timeline as one page that needs nothing else: no network, no other file; its tables need no script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from torchbuild.report.text import duration, printable, size
from torchbuild.report.timeline import Span, Timeline, by_folder

__all__ = ["facts_of", "timeline_html"]

_KINDS = ("object", "device", "link", "other")
_OUTCOMES = (None, "hit", "miss", "other", "mixed")
_CACHE_WORDS = {
    "hit": "from the cache",
    "miss": "compiled",
    "other": "not cacheable",
    "mixed": "some from the cache",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_SLOW = 50
_MOST_FOLDERS = 200
_MOST_POINTS = 4000


def timeline_html(timeline: Timeline) -> str:
    """The page."""
    style, script = _part("css"), _part("js")
    parts = {
        "POLICY": f"{_POLICY}; script-src {_digest(script)}",
        "TITLE": _text(timeline.title),
        "STYLE": style,
        "FACTS": "\n".join(
            f"<div><dt>{_text(label)}</dt><dd>{_text(value)}</dd></div>"
            for label, value in facts_of(timeline)
        ),
        "TABLES": "\n".join(_tables(timeline)),
        # a text that ends the element is a text here
        "DATA": json.dumps(_data(timeline), separators=(",", ":")).replace("<", "\\u003c"),
        "SCRIPT": script,
    }
    page: list[str] = []
    for number, piece in enumerate(_part("html").split("@")):
        page.append(parts[piece] if number % 2 else piece)
    return "".join(page)


@cache
def _part(suffix: str) -> str:
    return (files("torchbuild.report") / f"timeline_page.{suffix}").read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """What a browser asks of the one script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _text(value: str) -> str:
    return html.escape(printable(value))


def facts_of(timeline: Timeline) -> Iterator[tuple[str, str]]:
    """What a person wants to know first: label and value."""
    runs = len(timeline.runs)
    again = sum(not span.is_last for span in timeline.spans)
    yield "edges", f"{len(timeline.spans)}" + (f", {again} of them made again later" if again else "")
    yield "wall time", duration(timeline.seconds) + (f" in {runs} runs of ninja" if runs > 1 else "")
    average = timeline.busy / timeline.seconds if timeline.seconds else 0.0
    yield "at once", f"{timeline.slots} at most, {average:.1f} on average"
    yield "all edges together", duration(timeline.busy)
    way = sum(timeline.spans[number].seconds for number in timeline.longest)
    whence = "of build.ninja" if timeline.longest_from == "build.ninja" else "by order in time alone"
    yield "longest way", f"{duration(way)}, {len(timeline.longest)} edges, {whence}"
    if timeline.peak_memory is not None:
        yield "memory", f"{size(timeline.peak_memory)} at most"
    asked = sum(timeline.calls.get(kind, 0) for kind in ("hit", "miss"))
    if timeline.calls:
        hits = timeline.calls.get("hit", 0)
        share = f" ({100 * hits / asked:.0f} %)" if asked else ""
        yield "compiler cache", f"{hits} of {asked} calls{share}, in the last compile stage"
    if timeline.ignored:
        yield "not understood", f"{timeline.ignored} lines of the log"


def _data(timeline: Timeline) -> dict[str, Any]:
    """For the script: columns, which are shorter than rows."""
    spans = timeline.spans
    return {
        "seconds": timeline.seconds,
        "slots": timeline.slots,
        "runs": [[run.start, run.end] for run in timeline.runs],
        "name": [printable(span.output) for span in spans],
        "start": [round(span.start * 1000) for span in spans],
        "long": [round(span.end * 1000) - round(span.start * 1000) for span in spans],
        "slot": [span.slot for span in spans],
        "run": [span.run for span in spans],
        "kind": [_KINDS.index(span.kind) for span in spans],
        "outcome": [_OUTCOMES.index(span.outcome) for span in spans],
        "last": [int(span.is_last) for span in spans],
        "longest": list(timeline.longest),
        "points": _points(timeline),
    }


def _points(timeline: Timeline) -> list[list[int | None]]:
    """Time, memory, running, tokens, waiting, run; of many neighbours the one with most memory."""
    step = -(-len(timeline.points) // _MOST_POINTS) or 1
    found: list[list[int | None]] = []
    for number in range(0, len(timeline.points), step):
        at, sample = max(timeline.points[number : number + step], key=lambda point: point.sample.memory)
        run = sum(at > one.end for one in timeline.runs)
        found.append([round(at * 1000), sample.memory, sample.running, sample.tokens, sample.waiting, run])
    return sorted(found, key=lambda row: row[0] or 0)


def _tables(timeline: Timeline) -> Iterator[str]:
    numbers = {span: number for number, span in enumerate(timeline.spans)}
    slow = timeline.slowest(_MOST_SLOW)
    yield _edges(f"The slowest {len(slow)}", [(numbers[span], span) for span in slow], is_open=True)
    whence = (
        "what waits for what, out of build.ninja"
        if timeline.longest_from == "build.ninja"
        else "the order in time alone: before each edge the one that ended last when it began"
    )
    way = [(number, timeline.spans[number]) for number in timeline.longest]
    yield _edges(f"The longest way: {whence}", way, is_open=False)
    rows = by_folder(timeline)
    cells = [
        (
            f'<td class="path">{_text(row.folder)}</td>',
            *(
                f'<td class="n">{text}</td>'
                for text in (f"{row.seconds:.1f}", str(row.edges), str(row.hits or ""))
            ),
        )
        for row in rows[:_MOST_FOLDERS]
    ]
    heads = ("folder", "seconds", "edges", "from the cache")
    more = f"{len(rows) - _MOST_FOLDERS} more folders took less." if len(rows) > _MOST_FOLDERS else ""
    yield _table("By folder of the source", heads, cells, more, is_open=True)


def _edges(title: str, rows: Sequence[tuple[int, Span]], *, is_open: bool) -> str:
    cells = [
        (
            f'<td class="n">{span.seconds:.1f}</td>',
            f'<td class="n">{span.start:.1f}</td>',
            f"<td>{_CACHE_WORDS.get(span.outcome or '', '')}</td>",
            f'<td class="path">{_text(span.output)}</td>',
            f'<td><button type="button" data-edge="{number}">show</button></td>',
        )
        for number, span in rows
    ]
    return _table(title, ("seconds", "began at", "cache", "edge", ""), cells, "", is_open=is_open)


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: str, *, is_open: bool
) -> str:
    numeric = {"seconds", "began at", "edges", "from the cache"}
    head = "".join(f'<th scope="col"{" class=n" if name in numeric else ""}>{name}</th>' for name in heads)
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    told = f"<p>{more}</p>" if more else ""
    return (
        f"<details{' open' if is_open else ''}><summary><h2>{_text(title)}</h2></summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
        f"{told}</details>"
    )
