"""How long listing the GPU code of files takes, by our reader and by cuobjdump, and whether both lists agree.

Prints a table; docs/evidence/gpu-code.md holds one. Files and cuobjdump are named by whoever runs it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from torchbuild.inspection.gpu_code import GpuCode, gpu_code
from torchbuild.inspection.gpu_code_check import agrees
from torchbuild.shim.look_gpu_code import look

__all__ = ["main"]


def main() -> int:
    """Measure and print; exit code 1 where the two lists differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuobjdump", default="cuobjdump", help="the program")
    parser.add_argument("--runs", type=int, default=5, help="of our reader; cuobjdump runs once")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print("| file | MB | entries | ours, s | read, MB | cuobjdump, s | cuobjdump / ours | lists |")
    print("|---|---|---|---|---|---|---|---|")
    outcomes = [measured(path, options.cuobjdump, options.runs) for path in options.files]
    return 1 if "failed" in outcomes else 0


def measured(path: Path, cuobjdump: str, runs: int) -> str:
    """One row; the outcome of the comparison."""
    times = []
    for _ in range(runs):
        begin = time.monotonic()
        code = gpu_code(path)
        times.append(time.monotonic() - begin)
    begin = time.monotonic()
    told = look(cuobjdump, str(path))
    theirs, ours = time.monotonic() - begin, statistics.median(times)
    found = agrees(code, told)
    outcome = max((item.outcome for item in found), key=["passed", "not run", "failed"].index)
    size, read = path.stat().st_size / 1e6, code.read_bytes / 1e6
    is_listed = outcome != "not run"
    print(
        f"| `{path.name}` | {size:.1f} | {entries(code)} | {ours:.4f} | {read:.3f} | "
        f"{f'{theirs:.2f}' if is_listed else '-'} | {f'{theirs / ours:.0f}' if is_listed else '-'} | "
        f"{ {'passed': 'equal', 'failed': 'differ'}.get(outcome, outcome) } |",
        flush=True,
    )
    if outcome != "passed":
        print(found[0].what, found[0].seen, found[0].wanted, file=sys.stderr)
    return outcome


def entries(code: GpuCode) -> int:
    """Machine code and PTX of every object, device-linked already or not."""
    return sum(len(item.sass) + len(item.ptx) for item in code.objects)


if __name__ == "__main__":
    sys.exit(main())
