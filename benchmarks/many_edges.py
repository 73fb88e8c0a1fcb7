"""What the supervisor costs an edge, in builds of a thousand and of ten thousand: it is to be the same.

Prints a table; benchmarks/many-edges.md holds one. The compiler is /bin/true: nothing else costs much.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from supervised import Yard
from turns import Row, timed

__all__ = ["main"]


def graph(yard: Yard, edges: int, folders: int, launch: str) -> None:
    """So many compiles, spread over folders."""
    rule = f"rule cc\n  command = {launch}/bin/true -c $in -o $out\n"
    lines = "".join(f"build d{number % folders}/f{number}.o: cc\n" for number in range(edges))
    yard.write(rule + lines)


def build(yard: Yard, ninja: Path, jobs: int) -> Row:
    """One build: wall and processor seconds, supervisor included."""
    yard.clean()
    environ = [f"{name}={value}" for name, value in yard.environ().items()]
    argv = ["env", "-i", "-C", str(yard.build), *environ, str(ninja), f"-j{jobs}", "--quiet"]
    return timed(argv)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--folders", type=int, default=100)
    parser.add_argument("--edges", type=int, nargs="*", default=[1000, 10_000])
    options = parser.parse_args()
    rows: dict[int, list[float]] = {count: [] for count in options.edges}
    walls: dict[int, list[float]] = {count: [] for count in options.edges}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yard = Yard(Path(folder, "yard"))
        for _ in range(options.runs):
            for count in options.edges:
                graph(yard, count, options.folders, "")
                bare = build(yard, yard.real, options.jobs)
                graph(yard, count, options.folders, f"{yard.launch} ")
                ours = build(yard, yard.ninja, options.jobs)
                if yard.left()["edges_admitted"] != count:
                    raise RuntimeError(yard.left())
                rows[count].append((ours[1] - bare[1]) / count * 1000)
                walls[count].append((ours[0] - bare[0]) / count * 1000)
                print(count, bare, ours, file=sys.stderr, flush=True)
    print(f"{options.runs} runs in turns, -j{options.jobs}, ", end="")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; ms an edge beside bare ninja's\n")
    print("| edges | processor, least | median | most | wall, median |\n|---|---|---|---|---|")
    for count, found in rows.items():
        low, middle, high = min(found), statistics.median(found), max(found)
        print(
            f"| {count:,} | {low:.2f} | {middle:.2f} | {high:.2f} | {statistics.median(walls[count]):.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
