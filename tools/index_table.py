"""What the tools share that keep a table of facts equal to what the Python index says."""

# ruff: noqa: INP001, T201, TID251  a part of scripts of the repository

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from packaging.version import Version

from torchbuild.edges.package_index import machine_index

__all__ = ["DATA", "ask_pip", "keep_table", "releases"]

DATA = Path(__file__).resolve().parents[1] / "torchbuild" / "knowledge" / "data"


def ask_pip(*words: str) -> str:
    """What pip answers; the machine's own constraints and folders of wheels do not count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    index = machine_index()
    argv = [sys.executable, "-m", "pip", *words, f"--index-url={index.index_url}"]
    argv += [f"--cert={index.ca_file}"] if index.ca_file else []
    quiet = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(argv, env=kept | quiet, stdout=subprocess.PIPE, check=True, text=True).stdout


def releases(said: str) -> tuple[str, ...]:
    """Of what ``pip index versions`` says of a distribution, its releases, oldest first."""
    (known,) = (line for line in said.splitlines() if line.startswith("Available versions:"))
    return tuple(sorted(known.partition(":")[2].replace(",", " ").split(), key=Version))


def keep_table(about: str, table: Path, first: str, rows: Callable[[], str]) -> int:
    """Exit code 0 where a table is what the index says; with ``--check`` nothing is written.

    Args:
        about: the tool's own description.
        table: the file; what stands before its first row is written by hand.
        first: how the first row begins, such as ``[[release]]``.
        rows: asks the index, and gives all rows as text.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="only say whether the table is up to date")
    options = parser.parse_args()
    old = table.read_text(encoding="utf-8")
    new = old.partition(first)[0] + rows().rstrip("\n") + "\n"
    if re.sub(r'checked = ".*"', "", new) == re.sub(r'checked = ".*"', "", old):
        return 0
    if options.check:
        print(f"{table} is not what the index says: run {Path(sys.argv[0]).name}", file=sys.stderr)
        return 1
    table.write_text(new, encoding="utf-8")
    print(table)
    return 0
