"""How long `torchbuild doctor` takes, beside what people run to say what a machine is.

Prints a table; see doctor.md. The competitor is `python -m torch.utils.collect_env` of an installed torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from functools import partial
from pathlib import Path

from turns import Row, in_turns, print_table, timed

__all__ = ["main"]

TORCHBUILD = Path(sys.executable).with_name("torchbuild")
RECIPE = Path(__file__).resolve().parents[1] / "recipes" / "debian" / "torch-2.6-cu124-sm90.toml"
PROMISED_S = 2.0
"""Without a GPU."""


def main() -> int:
    """Measure and print; exit code 1 where doctor takes more than was promised at its best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each command")
    parser.add_argument("--torch-python", help="an interpreter that has torch, for the competitor")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    commands = _commands(options.torch_python)
    rows = in_turns({name: partial(_row, argv) for name, argv in commands.items()}, options.runs)
    print_table(rows, options.runs)
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


def _row(argv: list[str]) -> list[Row]:
    return [timed(argv)]


if __name__ == "__main__":
    sys.exit(main())
