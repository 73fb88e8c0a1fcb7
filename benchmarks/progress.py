"""What it costs to show a build: for each edge, by how it is shown; and each second, by whom.

Prints a table; see progress.md. Needs nothing but the package.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from torchbuild.report.broadcast import Broadcast, Renderer
from torchbuild.report.console import LiveConsole
from torchbuild.report.events import Activity, Progress, Running, RunStarted, StageStarted
from torchbuild.report.github import GithubConsole
from torchbuild.report.jsonl import JsonLines
from torchbuild.report.plain import PlainConsole
from torchbuild.report.redaction import Redactor
from torchbuild.shim.admission import Edge
from torchbuild.shim.live import Live
from torchbuild.shim.processes import look

__all__ = ["main"]

EDGES = 10_000
EVERY = 20
"""Edges between two activities: a build of ten edges a second has one each two seconds."""
NAME = "caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen/native/cpu/Kernel{}.cpp.AVX2.cpp.o"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each")
    options = parser.parse_args()
    print(f"| {EDGES} edges, for each | least | median |\n|---|---|---|")
    for name, make in LOOKS.items():
        spent = [shown(make) for _ in range(options.runs)]
        print(f"| {name} | {1e6 * min(spent):.0f} µs | {1e6 * statistics.median(spent):.0f} µs |")
    print("\n| once a second | least | median |\n|---|---|---|")
    for jobs in (2, 64):
        spent = [told(jobs) for _ in range(options.runs)]
        what = f"the shim tells of {jobs} compilers"
        print(f"| {what} | {1e3 * min(spent):.2f} ms | {1e3 * statistics.median(spent):.2f} ms |")
    spent = [4 * drawn() for _ in range(options.runs)]
    middle = statistics.median(spent)
    print(f"| a terminal is drawn four times | {1e3 * min(spent):.2f} ms | {1e3 * middle:.2f} ms |")
    return 0


def _live() -> LiveConsole:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100, height=40, highlight=False)
    return LiveConsole(terminal, time.monotonic, refresh=False)


LOOKS: dict[str, Callable[[], list[Renderer]]] = {
    "nobody watches: redaction alone": list,
    "events.jsonl": lambda: [JsonLines(io.StringIO(), closes=False)],
    "plain lines": lambda: [PlainConsole(io.StringIO(), time.monotonic)],
    "GitHub": lambda: [GithubConsole(io.StringIO(), time.monotonic)],
    "a terminal": lambda: [_live()],
}


def shown(make: Callable[[], list[Renderer]]) -> float:
    """Seconds of processor for each edge."""
    running = tuple(Running(name=NAME.format(number), seconds=1.0) for number in range(8))
    busy = Activity(stage="compile", edges=running, running=8, tokens=8, jobs=8, memory=1 << 33)
    with Broadcast(Redactor(["a-secret-of-twenty-letters"]), make()) as told_to:
        told_to.emit(RunStarted(run="r", recipe="r", stages=("compile",), workspace="/w"))
        told_to.emit(StageStarted(stage="compile"))
        begin = time.process_time()
        for number in range(EDGES):
            what = NAME.format(number)
            told_to.emit(Progress(stage="compile", done=number, total=EDGES, unit="edges", what=what))
            if number % EVERY == 0:
                told_to.emit(busy)
        return (time.process_time() - begin) / EDGES


def drawn() -> float:
    """Seconds of processor for one drawing with all its lines."""
    view = _live()
    view.handle(RunStarted(run="r", recipe="r", stages=("compile",), workspace="/w"))
    view.handle(StageStarted(stage="compile"))
    view.handle(Progress(stage="compile", done=5, total=EDGES, unit="edges", left_s=600.0))
    running = tuple(Running(name=NAME.format(number), seconds=1.0) for number in range(8))
    view.handle(Activity(stage="compile", edges=running, running=8, tokens=8, jobs=8, memory=1 << 33))
    begin = time.process_time()
    for _ in range(50):
        view.draw()
    spent = (time.process_time() - begin) / 50
    view.close()
    return spent


def told(jobs: int) -> float:
    """Seconds of processor for one look and one file, with this machine's processes."""
    with tempfile.TemporaryDirectory(prefix="torchbuild-progress-") as folder:
        live = Live(str(Path(folder, "live.json")), str(Path(folder, "log")))
        edges = {1_000_000_000 + number: Edge(NAME.format(number), 1, 0.0) for number in range(jobs)}
        begin = time.process_time()
        for _ in range(10):
            live.tell(look(), os.getpid(), edges, [], tokens=jobs, jobs=jobs)
        return (time.process_time() - begin) / 10


if __name__ == "__main__":
    raise SystemExit(main())
