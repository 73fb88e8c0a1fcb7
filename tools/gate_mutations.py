"""Change a real CMakeCache.txt in every way that counts, and count what the gate refuses by name.

tools/gate_mutations.py [CACHE LOCK]: for each compared entry the value flipped, the type turned INTERNAL, the
entry deleted; and options that nobody expected. Exit code 1 where one mutation that matters goes through.
"""

# ruff: noqa: INP001, T201  a script of the repository

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchbuild.shim.cache import Entry, is_true, parse_cache
from torchbuild.shim.gate import compare

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
BY_NAME = ("switch", "option", "text", "exact", "path")
Cache = dict[str, Entry]
Row = dict[str, Any]


def main(argv: list[str]) -> int:
    """Print the counts."""
    cache_file, lock_file = argv or [DATA / "caches" / "torch-2.6-cpu.txt", DATA / "torch-2.6-cpu.lock"]
    cache = parse_cache(Path(cache_file).read_text(encoding="utf-8"))
    rows: list[Row] = tomllib.loads(Path(lock_file).read_text(encoding="utf-8"))["expect"]
    untouched = refused(cache, rows)
    print(f"{len(rows)} expectations, {len(cache)} entries; refused on the untouched cache: {len(untouched)}")
    missed = [name for name, wanted in mutations(cache, rows) if not all_right(name, wanted)]
    for kind, counts in COUNTS.items():
        print(f"{kind}: {counts[0]} tried, {counts[1]} of {counts[2]} that matter refused by name")
    return 1 if missed or untouched else 0


COUNTS: dict[str, list[int]] = {}


def all_right(kind: str, outcome: tuple[bool, bool]) -> bool:
    """Note one mutation; whether what matters was refused, and what does not was not."""
    matters, is_refused = outcome
    counts = COUNTS.setdefault(kind, [0, 0, 0])
    counts[0] += 1
    counts[1] += is_refused
    counts[2] += matters
    return matters == is_refused


def refused(cache: Cache, rows: list[Row]) -> set[str]:
    """The keys that the gate names."""
    return {item["what"].rpartition(" (")[0] for item in compare(cache, rows) if item["outcome"] == "failed"}


def mutations(cache: Cache, rows: list[Row]) -> Iterator[tuple[str, tuple[bool, bool]]]:
    """Each mutation's kind, whether it matters, and whether it was refused under its name."""
    for row in rows:
        if row["kind"] in ("only", "found"):
            continue
        names = [row["key"]] if row["kind"] in BY_NAME else [n for n in cache if re.fullmatch(row["key"], n)]
        for name in names:
            entry = cache.get(name)
            others = {key: value for key, value in cache.items() if key != name}
            yield "value flipped", (True, row["key"] in refused(others | {name: flipped(row, entry)}, rows))
            if row["kind"] == "option" and entry is not None and entry.type == "BOOL":
                hidden = Entry("INTERNAL", entry.value)
                yield "type turned INTERNAL", (True, row["key"] in refused(others | {name: hidden}, rows))
            if entry is not None and len(names) == 1 and not is_off_anyway(row):
                yield "entry deleted", (True, row["key"] in refused(others, rows))
    for name in ("USE_SOMETHING_NEW", "BUILD_SOMETHING_NEW"):
        for entry in (Entry("BOOL", "ON"), Entry("BOOL", "OFF"), Entry("INTERNAL", "1")):
            yield "option that nobody expected", (True, name in refused(cache | {name: entry}, rows))


def is_off_anyway(row: Row) -> bool:
    """Gone is the same state: off and not surely declared, or compared only where it exists."""
    return row["kind"] in ("each", "every-contains", "switch")


def flipped(row: Row, entry: Entry | None) -> Entry:
    """Another value."""
    if row["kind"] in ("switch", "option"):
        on = entry is not None and entry.type not in ("INTERNAL", "STATIC") and is_true(entry.value)
        return Entry("BOOL", "OFF" if on else "ON")
    return Entry("STRING" if entry is None else entry.type, "/opt/other")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
