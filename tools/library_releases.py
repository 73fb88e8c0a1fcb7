"""Write knowledge/data/library_releases.toml from the Python index. --check: is it what the index says?

``library_wheels.toml`` lists which distributions are asked for. What pip would not offer by itself, such
as a withdrawn release or one before its time, is in no row. Needs the network; nothing else in the repository
runs it.
"""

# ruff: noqa: INP001  a script of the repository

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from index_table import DATA, ask_pip, keep_table, releases

from torchbuild.knowledge.libraries import library_names, library_wheels

__all__ = ["asked", "main", "table"]

TABLE = DATA / "library_releases.toml"


def main() -> int:
    """Exit code 0 where the table is what the index says; with ``--check`` nothing is written."""
    return keep_table(__doc__ or "", TABLE, "[[library]]", _rows)


def _rows() -> str:
    said = (table(*row, releases(ask_pip("index", "versions", row[-1]))) for row in asked())
    return "\n".join(said)


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


def table(library: str, cuda: str, distribution: str, versions: tuple[str, ...]) -> str:
    """One row."""
    return f"""[[library]]
library = "{library}"
cuda = "{cuda}"
versions = {json.dumps(versions)}
source = "the list of releases of {distribution} on the Python index"
checked = "{datetime.now(UTC).date()}"
"""


if __name__ == "__main__":
    sys.exit(main())
