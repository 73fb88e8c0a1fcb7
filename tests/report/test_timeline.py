"""What a build did over time, as values, as a page, as a trace and as figures."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from ninja_builds import BEGAN_MS, build_ninja_text, log_text, many, samples_text, scheduled

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.cache_calls import CacheCall
from torchbuild.report.ninja_log import LogEdge, parse_ninja_log
from torchbuild.report.samples import parse_samples
from torchbuild.report.timeline import Timeline, by_folder, kind_of, slots, timeline_of
from torchbuild.report.timeline_html import facts_of, timeline_html
from torchbuild.report.timeline_json import timeline_json
from torchbuild.report.timeline_trace import timeline_trace

HOUR_MS = 3_600_000
OBJECT = "c10/CMakeFiles/c10.dir/{}.cpp.o"
EDGES = [(OBJECT.format("a"), 0, 4000), (OBJECT.format("b"), 0, 9000), ("lib/libc10.so", 9000, 10000)]


def timeline(*edges: tuple[str, int, int], **more: Any) -> Timeline:
    """Of one run."""
    return timeline_of(parse_ninja_log(log_text(edges or EDGES)), title="r-1", **more)


class Page(HTMLParser):
    """What a browser would take from a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data: dict[str, Any] = {}
        self._in = ""
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it."""
        self.tags.append(tag)
        self.attributes += attrs
        self._in = "data" if ("id", "data") in attrs else tag

    def handle_data(self, data: str) -> None:
        """Keep what is shown, and what the script reads."""
        if self._in == "data":
            self.data = json.loads(data)
            self._in = ""
        elif self._in not in ("script", "style"):
            self.shown += data


def test_runs_are_laid_one_after_the_other() -> None:
    """A night between two of them is left out; what was made again counts once among the slowest."""
    again = log_text([(OBJECT.format("a"), 500, 2500)], began_ms=BEGAN_MS + 9 * HOUR_MS, head=False)
    line = timeline_of(parse_ninja_log(log_text(EDGES) + again), title="r-1")

    assert [(run.start, run.end, run.edges) for run in line.runs] == [(0.0, 10.0, 3), (10.0, 12.0, 1)]
    assert line.runs[1].began_ms == BEGAN_MS + 9 * HOUR_MS + 500
    assert [(span.start, span.is_last) for span in line.spans] == [
        (0, False),
        (0, True),
        (9, True),
        (10, True),
    ]
    assert [span.seconds for span in line.slowest()] == [9.0, 2.0, 1.0]
    assert (line.seconds, line.busy) == (12.0, 16.0)


def test_edges_that_overlap_lie_in_lanes_of_their_own() -> None:
    """And a lane that is free is taken again: there are as many as ran at once."""
    edges = [LogEdge("a", 1, 0, 10), LogEdge("b", 1, 5, 20), LogEdge("c", 1, 10, 15), LogEdge("d", 1, 20, 30)]

    assert slots(edges) == [0, 1, 0, 0]


def test_there_are_as_many_lanes_as_jobs() -> None:
    """Ten thousand edges on eight slots."""
    line = timeline(*scheduled(many(10_000), 8))

    assert line.slots == 8
    for slot in range(8):
        lane = [span for span in line.spans if span.slot == slot]
        assert all(before.end <= after.start + 1e-9 for before, after in itertools.pairwise(lane))


def test_the_longest_way_is_what_waits_for_what() -> None:
    """With build.ninja: the slower object, then the library."""
    graph = parse_build_ninja(
        f"build {EDGES[0][0]}: c\nbuild {EDGES[1][0]}: c\nbuild lib/libc10.so: l {EDGES[1][0]}\n"
    )
    line = timeline(graph=graph)

    assert [line.spans[number].output for number in line.longest] == [EDGES[1][0], "lib/libc10.so"]
    assert line.longest_from == "build.ninja"


def test_without_build_ninja_it_is_a_chain_in_time_and_says_so() -> None:
    """Back from the end: what ended last before the next began."""
    line = timeline()

    assert [line.spans[number].output for number in line.longest] == [EDGES[1][0], "lib/libc10.so"]
    assert line.longest_from == "order"
    assert "by order in time alone" in dict(facts_of(line))["longest way"]


def test_memory_lies_where_it_was_seen() -> None:
    """Each sample in the run that it was taken in; those between runs in none."""
    again = log_text([("x.o", 0, 2000)], began_ms=BEGAN_MS + HOUR_MS, head=False)
    at = (BEGAN_MS / 1000 + 4, BEGAN_MS / 1000 + 600, BEGAN_MS / 1000 + 3601)
    text = "".join(json.dumps({"t": time, "memory": 2**30, "running": 2}) + "\n" for time in at)

    line = timeline_of(parse_ninja_log(log_text(EDGES) + again), title="r-1", samples=parse_samples(text))

    assert [point.at for point in line.points] == [4.0, 11.0]
    assert line.peak_memory == 2**30


def test_what_the_cache_gave_is_told_of_the_last_run_alone() -> None:
    """Its log is begun anew with each: an earlier run's edges are not taken for hits."""
    again = log_text([(OBJECT.format("b"), 0, 40)], began_ms=BEGAN_MS + HOUR_MS, head=False)
    calls = [
        CacheCall("/torchbuild/source/c10/b.cpp", "hit"),
        CacheCall("/torchbuild/source/c10/z.cpp", "miss"),
    ]

    line = timeline_of(parse_ninja_log(log_text(EDGES) + again), title="r-1", calls=calls)

    assert [span.outcome for span in line.spans] == [None, None, None, "hit"]
    assert line.calls == {"hit": 1, "miss": 1}
    assert dict(facts_of(line))["compiler cache"].startswith("1 of 2 calls (50 %)")


def test_folders_are_those_of_the_source() -> None:
    """Objects count where their source lies, whatever target they are compiled for."""
    line = timeline(
        ("caffe2/CMakeFiles/t.dir/__/aten/src/ATen/native/cpu/a.cpp.o", 0, 3000),
        ("other/CMakeFiles/u.dir/__/aten/src/ATen/native/b.cpp.o", 0, 1000),
        ("top.o", 0, 500),
    )

    assert [(row.folder, row.edges, row.seconds) for row in by_folder(line)] == [
        ("aten/src/ATen/native", 2, 4.0),
        (".", 1, 0.5),
    ]


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("a.cpp.o", "object"),
        ("a.cu.o", "device"),
        ("lib/a.so", "link"),
        ("lib/a.so.1.2", "link"),
        ("gen.h", "other"),
    ],
)
def test_sorts_of_work_are_told_apart(output: str, kind: str) -> None:
    """By what comes out."""
    assert kind_of(output) == kind


def test_the_page_needs_nothing_else() -> None:
    """No address, no file, no image; scripts but its own are forbidden to run, and nothing may be fetched."""
    page = Page(timeline_html(timeline()))
    policy = next(
        value for name, value in page.attributes if name == "content" and value and "default-src" in value
    )

    assert not {name for name, _ in page.attributes} & {
        "src",
        "href",
        "action",
        "background",
        "srcset",
        "style",
    }
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[^']+'$", policy)
    assert "://" not in timeline_html(timeline())
    assert "url(" not in timeline_html(timeline())


def test_the_page_says_all_without_its_script() -> None:
    """Figures, the slowest, the longest way and the folders are text."""
    shown = Page(timeline_html(timeline(samples=parse_samples(samples_text(10))))).shown

    for text in ("10.0 s", "2 at most", "longest way", "memory", "c10", OBJECT.format("b"), "The slowest 3"):
        assert text in shown


@pytest.mark.parametrize(
    "name",
    ["</script><script>alert(1)</script>.o", "<img src=x onerror=alert(1)>.o", '" onclick="x', "a\u202eb\x1b[31mc.o", "&lt;.o", "@DATA@.o"],
)  # fmt: skip
def test_a_name_is_only_a_name(name: str) -> None:
    """Whoever names a file cannot write into the page, nor turn what a person reads."""
    page = Page(timeline_html(timeline((name, 0, 1000))))
    plain = Page(timeline_html(timeline(("a.o", 0, 1000))))

    assert page.tags == plain.tags
    assert len(page.attributes) == len(plain.attributes)
    assert page.data["name"][0] in (name, "abc.o")
    assert page.data["name"][0] in page.shown


def test_an_empty_build_has_a_page() -> None:
    """There was nothing to do: that is shown, and nothing is divided by nought."""
    line = timeline_of(
        parse_ninja_log("# ninja log v7\n"), title="r-1", samples=parse_samples(samples_text(10))
    )

    assert Page(timeline_html(line)).data["name"] == []
    assert json.loads(timeline_trace(line))["traceEvents"]
    assert timeline_json(line)["edges"] == 0


def test_the_page_holds_every_edge() -> None:
    """Ten thousand, and no more samples than a screen has dots."""
    edges = scheduled(many(10_000), 8)
    end = edges[-1][2] / 1000
    line = timeline(
        *edges, graph=parse_build_ninja(build_ninja_text([edge[0] for edge in edges])), samples=parse_samples(samples_text(end, every=0.2))
    )  # fmt: skip

    data = Page(timeline_html(line)).data

    assert len(data["name"]) == len(data["start"]) == len(data["long"]) == len(data["last"]) == 10_000
    assert 0 < len(data["points"]) <= 4000
    assert data["name"][data["longest"][-1]] == "bin/all"


def test_the_trace_is_one_that_viewers_open() -> None:
    """Complete events in microseconds, a thread a slot, counters for memory and tokens."""
    text = timeline_trace(timeline(samples=parse_samples(samples_text(10))))
    events = json.loads(text)["traceEvents"]
    by_sort = {sort: [event for event in events if event["ph"] == sort] for sort in "MXC"}

    assert [(event["ts"], event["dur"], event["tid"]) for event in by_sort["X"]] == [
        (0, 4_000_000, 1),
        (0, 9_000_000, 2),
        (9_000_000, 1_000_000, 1),
    ]
    assert {event["args"]["name"] for event in by_sort["M"]} == {"r-1", "slot 1", "slot 2"}
    assert {"bytes"} | {"running", "tokens"} == {key for event in by_sort["C"] for key in event["args"]}
    assert all({"name", "ph", "pid"} <= set(event) for event in events)


def test_the_figures_are_there_for_a_program() -> None:
    """The same that a person reads."""
    value = json.loads(json.dumps(timeline_json(timeline())))

    assert (value["edges"], value["seconds"], value["slots"], value["longest_from"]) == (3, 10.0, 2, "order")
    assert value["slowest"][0] == {"output": OBJECT.format("b"), "seconds": 9.0, "cache": None}
    assert value["folders"][0] == {"folder": "c10", "edges": 2, "seconds": 13.0, "hits": 0}
