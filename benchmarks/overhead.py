"""What a build pays for being supervised: real objects of torch_cpu, by bare ninja and by ours, in turns.

Prints a table; benchmarks/overhead.md holds one. Takes the workspace of a run of torch 2.6 that ended after
configure (``torchbuild build RECIPE --until configure``) and its builder image.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

from real_builder import in_the_builder, parser

__all__ = ["main", "table"]


def main() -> int:
    """Exit code 0."""
    asked = parser(__doc__, jobs=2)
    asked.add_argument("--objects", type=int, default=150, help="the first of torch_cpu, in all")
    asked.add_argument("--pairs", type=int, default=5, help="each gets its own part of them")
    options = asked.parse_args()
    print(table(in_the_builder(options, "pairs", options.objects, options.pairs, options.jobs)))
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown: each pair, and what ours takes of bare ninja's, least, median and most."""
    pairs = sorted({row["pair"] for row in rows})
    by_way = {(row["pair"], row["way"]): row for row in rows}
    lines = ["| pair | objects | bare: wall | ours: wall | bare: user + system | ours: user + system |"]
    lines += ["|---|---|---|---|---|---|"]
    for pair in pairs:
        both = [by_way[pair, way] for way in ("bare", "ours")]
        cells = [f"{item[kind]:.1f}" for kind in ("wall", "processor") for item in both]
        lines.append(f"| {pair + 1} | {both[0]['made']} | {' | '.join(cells)} |")
    for kind, title in (("wall", "wall"), ("processor", "user + system")):
        taken = {way: [by_way[pair, way][kind] for pair in pairs] for way in ("bare", "ours")}
        ratios = [ours / bare for bare, ours in zip(taken["bare"], taken["ours"], strict=True)]
        said = f"{min(ratios):.3f}, {statistics.median(ratios):.3f}, {max(ratios):.3f}"
        whole = sum(taken["ours"]) / sum(taken["bare"])
        lines.append(f"\n{title}, ours / bare: {said} (least, median, most); of all together {whole:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
