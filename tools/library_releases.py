"""Write knowledge/data/library_releases.toml from the Python index. --check: is it what the index says?

``library_wheels.toml`` lists which distributions are asked for. What pip would not offer by itself, such
as a withdrawn release or one before its time, is in no row. Needs the network; nothing else in the repository
runs it.
"""

# ruff: noqa: INP001, T201, TID251  a script of the repository

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from packaging.version import Version

from torchbuild.edges.package_index import machine_index
from torchbuild.knowledge.libraries import library_names, library_wheels

__all__ = ["asked", "main", "releases", "table"]

TABLE = Path(__file__).resolve().parents[1] / "torchbuild" / "knowledge" / "data" / "library_releases.toml"


def main() -> int:
    """Exit code 0 where the table is what the index says; with ``--check`` nothing is written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the table is up to date")
    options = parser.parse_args()
    old = TABLE.read_text(encoding="utf-8")
    rows = (table(*row, releases(_pip("index", "versions", row[-1]))) for row in asked())
    new = _head(old) + "\n".join(rows)
    if re.sub(r'checked = ".*"', "", new) == re.sub(r'checked = ".*"', "", old):
        return 0
    if options.check:
        print(f"{TABLE} is not what the index says: run tools/library_releases.py", file=sys.stderr)
        return 1
    TABLE.write_text(new, encoding="utf-8")
    print(TABLE)
    return 0


def asked() -> tuple[tuple[str, str, str], ...]:
    """Library, major release of CUDA and distribution, sorted, each once."""
    return tuple(
        sorted(
            {
                (row.library, row.cuda, row.distribution)
                for name in library_names()
                for row in library_wheels(name)
            }
        )
    )


def releases(said: str) -> tuple[str, ...]:
    """Of what pip says of a distribution, its releases, oldest first."""
    (known,) = (line for line in said.splitlines() if line.startswith("Available versions:"))
    return tuple(sorted(known.partition(":")[2].replace(",", " ").split(), key=Version))


def table(library: str, cuda: str, distribution: str, versions: tuple[str, ...]) -> str:
    """One row."""
    return f"""[[library]]
library = "{library}"
cuda = "{cuda}"
versions = {json.dumps(versions)}
source = "the list of releases of {distribution} on the Python index"
checked = "{datetime.now(UTC).date()}"
"""


def _head(text: str) -> str:
    """What is written by hand: all before the first row."""
    return text.partition("[[library]]")[0]


def _pip(*words: str) -> str:
    """What pip answers; the machine's own constraints and folders of wheels do not count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    index = machine_index()
    argv = [sys.executable, "-m", "pip", *words, f"--index-url={index.index_url}"]
    argv += [f"--cert={index.ca_file}"] if index.ca_file else []
    quiet = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(argv, env=kept | quiet, stdout=subprocess.PIPE, check=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
