"""How long `torchbuild init` takes: a recipe, a refusal with its ways out, a recipe explained.

Prints a table; see init.md. Needs no network, no GPU and no driver.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from turns import Row, Times, in_turns, print_table, timed

__all__ = ["main"]

TORCHBUILD = Path(sys.executable).with_name("torchbuild")
PASCAL = ("--torch", "2.6", "--gpu", "GTX 1080 Ti", "--driver", "535", "--glibc", "2.36", "--out", "-")
KEPLER = ("--torch", "2.9", "--gpu", "K80", "--driver", "470", "--out", "-")
MODEL = (
    "--like",
    "torch==2.13.0+cu126",
    "--add-gpu",
    "GTX 1080",
    "--driver",
    "535",
    "--glibc",
    "2.36",
    "--out",
    "-",
)
NO_INDEX = """\
[torch-wheels]
base = "http://127.0.0.1:9/whl/"
source = "an address that nobody answers at"
checked = "2026-11-30"
"""
"""What a machine without a network sees of upstream's index."""
MOST_S = 1.0
"""What a person waits for an answer."""


def main() -> int:
    """Measure and print; exit code 1 where a recipe takes more than a second at its best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each command")
    options = parser.parse_args()
    # as an installed program has it: without this, some machines compile every module anew at each start
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="torchbuild-init-") as folder:
        rows = measured(Path(folder), options.runs)
    print_table(rows, options.runs, base="`torchbuild --version`")
    return 0 if min(item[0] for item in rows["a recipe"]) <= MOST_S else 1


def measured(folder: Path, runs: int) -> Times:
    """Every command's times, taken in turns, so that a busy minute falls on all of them alike."""
    facts = folder / "facts"
    facts.mkdir()
    (facts / "publishers.toml").write_text(NO_INDEX, encoding="utf-8")
    os.environ["TORCHBUILD_KNOWLEDGE"] = str(facts)
    recipe = folder / "pascal.toml"
    recipe.write_bytes(subprocess.run([TORCHBUILD, "init", *PASCAL], check=True, capture_output=True).stdout)
    commands = {
        "a recipe": (TORCHBUILD, "init", *PASCAL),
        "a refusal with its ways out": (TORCHBUILD, "init", *KEPLER),
        "a recipe like upstream's build, no index there": (TORCHBUILD, "init", *MODEL),
        "`torchbuild explain` of the recipe": (TORCHBUILD, "explain", recipe),
        "`torchbuild --version`": (TORCHBUILD, "--version"),
        "`python -c pass`": (sys.executable, "-c", "pass"),
    }
    return in_turns({name: partial(_row, words) for name, words in commands.items()}, runs)


def _row(words: tuple[object, ...]) -> list[Row]:
    return [timed([str(word) for word in words], check=False)]  # a refusal is one of them


if __name__ == "__main__":
    sys.exit(main())
