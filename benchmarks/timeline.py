"""What a timeline of ten thousand edges costs.

Prints tables; see timeline.md. Needs nothing but the package; a browser, where there is one, draws the page.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ninja_builds import build_ninja_text, log_text, many, samples_text, scheduled

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.ninja_log import parse_ninja_log
from torchbuild.report.samples import parse_samples
from torchbuild.report.timeline import timeline_of
from torchbuild.report.timeline_html import timeline_html
from torchbuild.report.timeline_trace import timeline_trace

__all__ = ["main"]

T = TypeVar("T")
EDGES, JOBS = 10_000, 8


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each step")
    options = parser.parse_args()
    edges = scheduled(many(EDGES), JOBS)
    log = log_text(edges)
    costs(options.runs, log, build_ninja_text([edge[0] for edge in edges]), edges[-1][2] / 1000)
    return 0


def costs(runs: int, log: str, graph: str, end: float) -> None:
    """Each step by itself."""
    print(f"| step, {EDGES} edges | least | median | bytes |\n|---|---|---|---|")
    read = _timed("read the log", runs, lambda: parse_ninja_log(log), len(log))
    waits = _timed("read build.ninja", runs, lambda: parse_build_ninja(graph), len(graph))
    seen = parse_samples(samples_text(end))
    line = _timed(
        "join, slots, longest way", runs, lambda: timeline_of(read, title="x", graph=waits, samples=seen), 0
    )
    page = _timed("the page", runs, lambda: timeline_html(line), len(timeline_html(line)))
    _timed("the trace", runs, lambda: timeline_trace(line), len(timeline_trace(line)))
    chromium = shutil.which("chromium")
    if chromium:
        with tempfile.TemporaryDirectory(prefix="torchbuild-timeline-") as folder:
            for name, text in (("a browser, an empty page", "<p>"), ("a browser, this page", page)):
                path = Path(folder, "page.html")
                path.write_text(text, encoding="utf-8")
                argv = [
                    chromium,
                    "--headless=new",
                    "--no-sandbox",
                    "--disable-gpu",
                    f"--user-data-dir={folder}/p",
                ]
                _timed(
                    name, runs, lambda argv=argv, path=path: _shown([*argv, "--dump-dom", path.as_uri()]), 0
                )


def _shown(argv: Sequence[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def _timed(what: str, runs: int, step: Callable[[], T], size: int) -> T:
    result = step()
    seconds = []
    for _ in range(runs):
        begin = time.monotonic()
        result = step()
        seconds.append(time.monotonic() - begin)
    print(f"| {what} | {min(seconds):.3f} s | {statistics.median(seconds):.3f} s | {size or ''} |")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
