"""How true the remaining time is that a build says: real ones are replayed, with what was known before each.

Prints tables; see estimate.md. Needs nothing but the package. With --log a further build of torch 2.6 for the
CPU is judged.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ninja_builds import build_ninja_text, many, scheduled

from torchbuild.report.build_graph import BuildGraph, parse_build_ninja
from torchbuild.report.cache_calls import Outcome
from torchbuild.report.edge_times import edge_times
from torchbuild.report.estimate import Checkpoint, Forecast, errors_at, replay
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge, parse_ninja_log
from torchbuild.report.timeline import kind_of
from torchbuild.resolve.edge_guesses import edge_guesses

__all__ = ["Log", "first_tenth", "judged", "logs", "main", "means_of", "without_standstill"]

LOGS = Path(__file__).parent / "logs" / "torch-2.6-cpu.tsv"
SHARES = (0.1, 0.25, 0.5, 0.75)
STANDSTILL_S, KEPT_S = 100.0, 30.0
EDGES = 10_000


class Log(NamedTuple):
    """One build."""

    name: str
    edges: tuple[LogEdge, ...]

    @property
    def end(self) -> float:
        """When its last edge ended."""
        return max(edge.end_ms for edge in self.edges) / 1000

    def seconds(self) -> dict[str, float]:
        """What each edge took."""
        return {edge.output: edge.seconds for edge in self.edges}


def logs(path: Path = LOGS) -> tuple[BuildGraph, dict[str, Log]]:
    """The graph of torch 2.6 for the CPU, and its builds by name."""
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    graph = BuildGraph(
        outputs=tuple((row["output"],) for row in rows),
        needs=tuple(tuple(_numbers(row["needs"])) for row in rows),
        is_phony=(False,) * len(rows),
        makers={row["output"]: number for number, row in enumerate(rows)},
        defaults=(),
    )
    names = [key.removesuffix(" start") for key in rows[0] if key.endswith(" start")]
    return graph, {name: Log(name, tuple(_edges(rows, name))) for name in names}


def _numbers(text: str) -> Iterable[int]:
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _edges(rows: Sequence[Mapping[str, str]], name: str) -> list[LogEdge]:
    found = [
        LogEdge(row["output"], 1, int(row[f"{name} start"]), int(row[f"{name} end"]))
        for row in rows
        if row[f"{name} start"]
    ]
    return sorted(found, key=lambda edge: edge.end_ms)


def without_standstill(log: Log) -> Log:
    """The same build, as if the machine had not been frozen: no edge ended for minutes on two slots."""
    ends = [edge.end_ms for edge in log.edges]
    holes = [
        (before + KEPT_S * 1000, after)
        for before, after in pairwise(ends)
        if after - before > STANDSTILL_S * 1000
    ]

    def moved(at: int) -> int:
        return round(at - sum(max(0.0, min(at, last) - first) for first, last in holes))

    edges = (edge._replace(start_ms=moved(edge.start_ms), end_ms=moved(edge.end_ms)) for edge in log.edges)
    return Log(f"{log.name}, standstills cut out", tuple(edges))


def means_of(log: Log) -> Expected:
    """The table of facts as it would be if this were the only build that anybody measured."""
    facts = edge_guesses()
    seen: dict[str, list[float]] = defaultdict(list)
    for edge in log.edges:
        seen[facts.kind(edge.output)].append(edge.seconds)
    objects = [edge.seconds for edge in log.edges if kind_of(edge.output) == "object"]

    def guess(output: str) -> float:
        like = seen.get(facts.kind(output))
        if like is None:
            like = objects if kind_of(output) == "object" else [facts.of(output)]
        return sum(like) / len(like)

    return replace(facts, guess=guess)


def first_tenth(said: Sequence[Checkpoint], log: Log) -> float:
    """How wrong it was after a tenth of the edges, of the whole time."""
    point = next(point for point in said if point.done >= len(log.edges) / 10)
    return (point.at + point.left - log.end) / log.end


def judged(
    log: Log,
    expected: Expected,
    graph: BuildGraph | None,
    outcomes: Mapping[str, Outcome] | None = None,
    *,
    jobs: int = 2,
) -> list[Checkpoint]:
    """What would have been said."""
    forecast = Forecast(
        [edge.output for edge in log.edges],
        expected=expected,
        graph=graph,
        jobs=jobs,
        has_cache=outcomes is not None,
    )
    return replay(forecast, log.edges, every=max(len(log.edges) // 100, 1), outcomes=outcomes or {})


def row(what: str, log: Log, said: Sequence[Checkpoint]) -> None:
    """One line of the table."""
    found = errors_at(said, log.end, SHARES)
    cells = " | ".join(f"{found.get(round(share * 100), float('nan')):+.0%}" for share in SHARES)
    print(f"| {what} | {len(log.edges)} | {log.end:.0f} s | {first_tenth(said, log):+.0%} | {cells} |")


HEAD = (
    "| what is judged | edges | took | after a tenth of the edges | 10 % | 25 % | 50 % | 75 % |\n"
    "|---|---|---|---|---|---|---|---|"
)


def cold(graph: BuildGraph, hand: Log, whole: Log) -> None:
    """Builds that compile all."""
    quiet = without_standstill(whole)
    kinds, facts = Expected(), edge_guesses()
    print(f"### Cold\n\n{HEAD}")
    for log, other in ((hand, quiet), (quiet, hand), (whole, hand)):
        row(f"{log.name}; nothing known", log, judged(log, kinds, graph))
        row(f"{log.name}; facts measured in the other", log, judged(log, means_of(other), graph))
        row(f"{log.name}; facts of the table (*)", log, judged(log, facts, graph))
        known = replace(means_of(other), learned=other.seconds())
        row(f"{log.name}; learned from the other", log, judged(log, known, graph))


def warm(graph: BuildGraph, builds: Mapping[str, Log]) -> None:
    """Builds that find all in the cache."""
    facts = edge_guesses()
    whole, hand, first = builds["cold"], builds["hand"], builds["warm"]
    hits: dict[str, Outcome] = {name: "hit" for name in first.seconds() if kind_of(name) == "object"}
    objects = {name: took for name, took in whole.seconds().items() if name in hits}
    print(f"\n### Warm\n\n{HEAD}")
    for log in (first, builds["warm 2"], builds["warm 3"]):
        for what, expected in (
            ("nothing known", Expected()),
            ("facts of the table", facts),
            ("learned from hand", replace(facts, learned=hand.seconds())),
            ("objects learned from cold", replace(facts, learned=objects)),
        ):
            row(f"{log.name}; {what}", log, judged(log, expected, graph, hits))
        known = replace(facts, learned=objects)
        row(f"{log.name}; the same, the cache does not tell", log, judged(log, known, graph, {}))
        row(f"{log.name}; the same, no build.ninja", log, judged(log, known, None, hits))
    for before, log in ((first, builds["warm 2"]), (builds["warm 2"], builds["warm 3"])):
        took = before.seconds()
        cached = {name: took[name] for name in hits}
        links = {name: seconds for name, seconds in took.items() if name not in hits}
        known = replace(facts, learned=links, cached=cached)
        row(f"{log.name}; learned from {before.name}", log, judged(log, known, graph, hits))


def made_up() -> None:
    """Ten thousand edges on eight slots: what an estimate costs, and how wrong it is if nothing disturbs."""
    took = many(EDGES)
    log = Log("", tuple(LogEdge(name, 1, start, end) for name, start, end in scheduled(took, 8)))
    graph = parse_build_ninja(build_ninja_text(list(took)))
    luck = random.Random(5)  # noqa: S311  the same times each day
    learned = {name: 1.3 * seconds * luck.lognormvariate(0, 0.2) for name, seconds in took.items()}
    half = {name: seconds for number, (name, seconds) in enumerate(learned.items()) if number % 2}
    print(f"\n### Made up\n\n{HEAD}")
    begin = time.process_time()
    slow = "on a machine 1.3 times as slow, each edge 20 % off"
    for what, known in (
        ("nothing known", {}),
        (f"half learned {slow}", half),
        (f"all learned {slow}", learned),
    ):
        said = judged(log, Expected(learned=known), graph, jobs=8)
        row(what, log, said)
    spent = 1000 * (time.process_time() - begin) / (3 * len(said))
    print(f"\nOne estimate of {EDGES} edges costs {spent:.0f} ms.")


def other(graph: BuildGraph, path: Path, learned: Path | None, hand: Log, whole: Log) -> None:
    """A build that took no part in making any of this."""
    runs = parse_ninja_log(path.read_text(errors="replace")).runs
    log = Log("the log given", max(runs, key=lambda run: len(run.edges)).edges)
    facts = edge_guesses()
    print(f"\n### {path.name}, {zlib.crc32(path.read_bytes()):08x}\n\n{HEAD}")
    known = [("facts of the table", facts), ("learned from cold", replace(facts, learned=whole.seconds()))]
    known.append(("learned from hand", replace(facts, learned=hand.seconds())))
    if learned is not None:
        known.append(("what that machine had learned", edge_times(learned.read_text(), facts)))
    for what, expected in known:
        row(f"{what}; a cache", log, judged(log, expected, graph, {}))
        row(f"{what}; no cache", log, judged(log, expected, graph))


def main() -> int:
    """Replay and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, help="a .ninja_log of torch 2.6 for the CPU that is judged too")
    parser.add_argument("--learned", type=Path, help="edge-times-*.json that was there before that build")
    options = parser.parse_args()
    graph, builds = logs()
    cold(graph, builds["hand"], builds["cold"])
    warm(graph, builds)
    made_up()
    if options.log:
        other(graph, options.log, options.learned, builds["hand"], builds["cold"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
