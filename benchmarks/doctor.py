"""How long `torchbuild doctor` takes, beside what people run to say what a machine is.

Prints a table; see doctor.md. The competitor is `python -m torch.utils.collect_env` of an installed torch.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main"]

TORCHBUILD = Path(sys.executable).with_name("torchbuild")
RECIPE = Path(__file__).resolve().parents[1] / "recipes" / "debian" / "torch-2.6-cu124-sm90.toml"
PROMISED_S = 2.0
"""Without a GPU."""

Row = tuple[float, float]
"""Wall and processor seconds."""


def main() -> int:
    """Measure and print; exit code 1 where doctor takes more than was promised at its best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each command")
    parser.add_argument("--torch-python", help="an interpreter that has torch, for the competitor")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rows = measured(_commands(options.torch_python), options.runs)
    print(
        f"{options.runs} runs each, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, seconds\n"
    )
    print("| command | wall, least | wall, median | processor, least |\n|---|---|---|---|")
    for name, times in rows.items():
        wall = sorted(item[0] for item in times)
        print(f"| {name} | {wall[0]:.3f} | {statistics.median(wall):.3f} | {min(t[1] for t in times):.3f} |")
    medians = {name: statistics.median(item[0] for item in times) for name, times in rows.items()}
    ours, theirs = list(medians)[1], list(medians)[-1]
    print(f"\n{ours} / {theirs}: {medians[ours] / medians[theirs]:.2f}")
    return 0 if min(item[0] for item in rows[ours]) <= PROMISED_S else 1


def _commands(torch_python: str | None) -> dict[str, list[str]]:
    commands = {
        "`torchbuild doctor`": [str(TORCHBUILD), "doctor"],
        "`torchbuild doctor RECIPE`": [str(TORCHBUILD), "doctor", str(RECIPE)],
        "`torchbuild --version`": [str(TORCHBUILD), "--version"],
        "`pip debug`": [sys.executable, "-m", "pip", "debug"],
    }
    if torch_python:
        commands["`python -m torch.utils.collect_env`"] = [torch_python, "-m", "torch.utils.collect_env"]
    return commands


def measured(commands: dict[str, list[str]], runs: int) -> dict[str, list[Row]]:
    """Every command's times, taken in turns, so that a busy minute falls on all of them alike."""
    rows: dict[str, list[Row]] = {name: [] for name in commands}
    for argv in commands.values():
        _timed(argv)  # files and bytecode are where they will be
    for _ in range(runs):
        for name, argv in commands.items():
            rows[name].append(_timed(argv))
    return rows


def _timed(argv: list[str]) -> Row:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, check=True, capture_output=True)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
