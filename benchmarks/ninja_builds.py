"""Builds that never were: logs of ninja of any size, with what lies beside them."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Sequence

__all__ = ["BEGAN_MS", "build_ninja_text", "log_text", "many", "samples_text", "scheduled"]

BEGAN_MS = 1_795_992_802_000


def scheduled(seconds: dict[str, float], jobs: int) -> list[tuple[str, int, int]]:
    """Name, start and end in milliseconds of each, one after the other on so many slots; by their end."""
    free = [0] * jobs
    found = []
    for name, took in seconds.items():
        start = heapq.heappop(free)
        found.append((name, start, start + round(took * 1000)))
        heapq.heappush(free, found[-1][2])
    return sorted(found, key=lambda edge: edge[2])


def log_text(edges: Sequence[tuple[str, int, int]], *, began_ms: int = BEGAN_MS, head: bool = True) -> str:
    """As ninja 1.13 writes it."""
    rows = [
        f"{a}\t{b}\t{(began_ms + a) * 1_000_000}\t{name}\t{number:x}"
        for number, (name, a, b) in enumerate(edges)
    ]
    return "\n".join([*(["# ninja log v7"] if head else []), *rows, ""])


def many(count: int, *, seed: int = 1) -> dict[str, float]:
    """Objects of several folders, each with a time as compilers take them, and the libraries made of them."""
    luck = random.Random(seed)  # noqa: S311  the same times each day
    names = [f"lib{n % 40}/CMakeFiles/t{n % 40}.dir/src/part{n % 7}/file{n}.cpp.o" for n in range(count - 41)]
    seconds = {name: luck.lognormvariate(1 + (number % 40) / 30, 0.8) for number, name in enumerate(names)}
    return seconds | {f"lib/lib{n}.so": 1.5 for n in range(40)} | {"bin/all": 4.0}


def build_ninja_text(names: Sequence[str]) -> str:
    """Libraries of their objects, and one program of all libraries."""
    lines = []
    for name in names:
        if name.endswith(".o"):
            lines.append(f"build {name}: cc {name.rpartition('/')[2][:-2]}")
        elif name.startswith("lib/"):
            number = name[len("lib/lib") : -len(".so")]
            parts = [item for item in names if item.startswith(f"lib{number}/")]
            lines.append(f"build {name}: link {' '.join(parts)}")
        else:
            lines.append(f"build {name}: link {' '.join(item for item in names if item.startswith('lib/'))}")
    return "\n".join([*lines, "default bin/all", ""])


def samples_text(seconds: float, *, began_ms: int = BEGAN_MS, every: float = 2.0) -> str:
    """A look every two seconds: memory goes up and down, a token is taken away in the middle."""
    count = int(seconds / every)
    return "".join(
        json.dumps(
            {
                "t": began_ms / 1000 + number * every,
                "memory": (number % 50) * 2**26,
                "running": 1 + number % 8,
                "tokens": 7 if number > count / 2 else 8,
            }
        )
        + "\n"
        for number in range(count)
    )
