"""Heavy and light compilers under a limit of memory: bare ninja at several -j, and ours.

Prints a table; benchmarks/memory.md holds one. Needs the right to make a control group. The heavy units are
tables of structures: 300,000 rows take some 450 MB of cc1plus.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from supervised import Yard

from torchbuild.edges.memory_group import memory_group

__all__ = ["limited", "main", "project"]

_ROWS, _DEPTH = 300_000, 60
_RULE = """\
rule cxx
  command = {launch}g++ -O1 -ftemplate-depth=2000 -c $in -o $out
  description = Building CXX object $out
"""


@dataclass
class Way:
    """One way to build, and what came of it."""

    name: str
    jobs: int
    is_ours: bool = False
    keeps: bool = False
    """Whether what was learned stays for the next run."""
    seconds: list[float] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)


def project(yard: Yard, heavy: int, light: int, rows: int = _ROWS) -> None:
    """Sources of both kinds, spread as a real build has them: heavy ones here and there."""
    source = yard.build.parent
    table = "".join(f'{{{row}, {row}.5, "name{row}"}},\n' for row in range(rows))
    for number in range(heavy):
        head = f"struct Row {{ int a; double b; const char *c; }};\nextern const Row table{number}[];\n"
        text = f"{head}const Row table{number}[] = {{\n{table}}};\n"
        (source / f"heavy{number}.cpp").write_text(text, encoding="utf-8")
    for number in range(light):
        (source / f"light{number}.cpp").write_text(_templates(number), encoding="utf-8")


def _templates(number: int) -> str:
    return (
        "#include <map>\n#include <string>\n#include <vector>\n"
        "template <int N> struct T { std::map<int, std::vector<std::string>> m; int f(int x) {\n"
        "  m[x].push_back(std::to_string(N)); return T<N - 1>().f(x) + (int)m.size(); } };\n"
        "template <> struct T<0> { int f(int x) { return x; } };\n"
        f"int light{number}(int x) {{ return T<{_DEPTH}>().f(x); }}\n"
    )


def rules(yard: Yard, launch: str) -> None:
    """A build file for the sources that are there."""
    names = sorted(path.stem for path in yard.build.parent.glob("*.cpp"))
    edges = "".join(f"build {name}.o: cxx ../{name}.cpp\n" for name in sorted(names, key=_spread))
    yard.write(_RULE.format(launch=launch) + edges)


def _spread(name: str) -> tuple[int, str]:
    number = int(re.sub(r"\D", "", name))
    return (number * (4 if name.startswith("heavy") else 1), name)


@contextlib.contextmanager
def limited(gib: float) -> Iterator[tuple[str, ...]]:
    """The first words of a command that may use so much memory and no more."""
    with memory_group(gib) as procs:
        yield ("sh", "-c", f'echo 0 >{procs} && exec "$@"', "sh")


def measure(way: Way, yard: Yard, gib: float) -> None:
    """Build once."""
    yard.clean()
    if not way.keeps:
        yard.expect(other=_OTHER)
    rules(yard, f"{yard.launch} " if way.is_ours else "")
    begin = time.monotonic()
    with limited(gib) as first:
        code, said = yard.run(*first, yard.ninja if way.is_ours else yard.real, f"-j{way.jobs}", "-k0")
    lost = said.count("FAILED: ")
    way.seconds.append(time.monotonic() - begin)
    way.outcomes.append("whole" if code == 0 else f"{lost} edges killed")
    if way.is_ours:
        told = yard.left()
        way.outcomes[-1] += f", {told['edges_rerun']} run again"
        yard.expect(other=_OTHER, learned=yard.seen())


_OTHER = 800_000_000


def main() -> int:
    """Measure and print; exit code 1 where ours lost an edge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.25, help="the limit")
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--light", type=int, default=30)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ways", nargs="*", default=[""], help="only ways whose names begin so")
    options = parser.parse_args()
    formula = max(1, min(len(os.sched_getaffinity(0)), int(options.gib / 4)))
    ways = [
        Way("`ninja -j8`", 8),
        *(Way(f"`ninja -j{jobs}`", jobs) for jobs in (1, 2, 3, 4)),
        Way("torchbuild -j8, nothing learned", 8, is_ours=True),
        Way("torchbuild -j8, peaks learned", 8, is_ours=True, keeps=True),
    ]
    ways = [way for way in ways if way.name.startswith(tuple(options.ways))]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yard = Yard(Path(folder, "yard"))
        project(yard, options.heavy, options.light)
        for _ in range(options.runs):
            for way in ways:
                measure(way, yard, options.gib)
                print(way.name, f"{way.seconds[-1]:.1f}", way.outcomes[-1], file=sys.stderr, flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {options.gib} GiB; ", end="")
    print(f"{options.heavy} heavy and {options.light} light units; min(cores, GiB / 4) is {formula}\n")
    print("| | wall, min | median | max | outcomes |\n|---|---|---|---|---|")
    for way in ways:
        low, middle, high = min(way.seconds), statistics.median(way.seconds), max(way.seconds)
        told = "; ".join(dict.fromkeys(way.outcomes))
        print(f"| {way.name} | {low:.1f} | {middle:.1f} | {high:.1f} | {told} |")
    ours = [outcome for way in ways if way.is_ours for outcome in way.outcomes]
    return 0 if all(outcome.startswith("whole") for outcome in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
