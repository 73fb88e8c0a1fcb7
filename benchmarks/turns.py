"""What the benchmarks share that time whole commands: in turns, so that a busy minute falls on all alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping

__all__ = ["Row", "Times", "in_turns", "print_table", "timed"]

Row = tuple[float, float]
"""Wall and processor seconds."""
Times = dict[str, list[Row]]
"""By command, one row a run."""


def timed(argv: list[str], *, check: bool = True) -> Row:
    """One run of a command, with all that it starts."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, check=check, capture_output=True)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turns(steps: Mapping[str, Callable[[], list[Row]]], runs: int) -> Times:
    """Each step's rows; one run of each before them is not counted: files and bytecode are then in place."""
    rows: Times = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(runs):
        for name, step in steps.items():
            rows[name] += step()
    return rows


def print_table(rows: Times, runs: int, base: str = "") -> None:
    """The table, in Markdown; with the ratio of processor time to the command `base` where one is named."""
    print(f"{runs} runs each, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, seconds\n")
    ratio = f" the same / {base} |" if base else ""
    print(f"| command | wall, least | wall, median | processor, least |{ratio}")
    print("|---|---|---|---|" + ("---|" if base else ""))
    for name, times in rows.items():
        wall, least = [item[0] for item in times], _least(times)
        cell = f" {least / _least(rows[base]):.1f} |" if base else ""
        print(f"| {name} | {min(wall):.3f} | {statistics.median(wall):.3f} | {least:.3f} |{cell}")


def _least(times: list[Row]) -> float:
    return min(processor for _, processor in times)
