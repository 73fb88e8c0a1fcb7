"""The twenty heaviest objects of the real torch_cpu under a limit of memory: bare ninja, and ours.

Prints a table; benchmarks/memory.md holds one. Takes what overhead.py takes.
"""

from __future__ import annotations

import sys

from real_builder import in_the_builder, parser

__all__ = ["main"]


def main() -> int:
    """Exit code 0."""
    asked = parser(__doc__, jobs=4)
    asked.add_argument("--memory", default="2560m", help="as podman takes it; swap is none")
    asked.add_argument("--limit", type=int, default=1800, help="seconds; a build that is not done is ended")
    asked.add_argument("--ways", nargs="+", default=["bare", "ours"], choices=["bare", "ours"])
    options = asked.parse_args()
    limits = (f"--memory={options.memory}", f"--memory-swap={options.memory}")
    print(f"-j{options.jobs}, {options.memory}\n")
    print("| | wall, s | user + system, s | objects made | killed or failed |")
    print("|---|---|---|---|---|")
    for row in in_the_builder(options, "heaviest", options.jobs, options.limit, *options.ways, limits=limits):
        made = f"{row['made']} of {row['objects']}"
        ended = "" if row["code"] is not None else ", ended by hand"
        cells = f"{row['wall']:.0f} | {row['processor']:.0f} | {made} | {row['failed']}{ended}"
        print(f"| {row['way']} | {cells} |")
        if row["supervisor"]:
            print("\n" + ", ".join(f"{name} {value}" for name, value in sorted(row["supervisor"].items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
