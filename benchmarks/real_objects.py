"""Real objects of torch_cpu, by bare ninja and by ours: the part that runs in the builder, by its Python.

Started by overhead.py and memory_real.py; prints a line of JSON for each run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path("/torchbuild")
BUILD, SHIM = ROOT / "source" / "build", ROOT / "shim"
OBJECT = re.compile(r"^build (caffe2/CMakeFiles/torch_cpu\.dir/\S+\.o): ", re.MULTILINE)
LAUNCHER = re.compile(r"^  LAUNCHER = .*$", re.MULTILINE)
HEADERS = "cmake_object_order_depends_target_torch_cpu"
HEAVIEST = re.compile(
    r"/(RegisterCPU|generated_ops|RegisterComposite(Ex|Im)plicitAutograd|RegisterMeta"
    r"|(VariableType|Operators|TraceType)_[0-4])\.cpp\.o$"
)
"""Twenty of those that took most, see docs/evidence/compile-memory.md."""


class Tree:
    """A configured build tree; what stands before its compilers is another one for each way."""

    def __init__(self, jobs: int) -> None:
        """Make the headers that objects wait for.

        Args:
            jobs: compilers at once.
        """
        self._jobs = jobs
        self._rules = (BUILD / "build.ninja").read_text(encoding="utf-8")
        self.objects = OBJECT.findall(self._rules)
        order = json.loads((SHIM / "order.json").read_text(encoding="utf-8"))
        (SHIM / "order.json").write_text(json.dumps({**order, "mode": "build"}), encoding="utf-8")
        self.run("bare", [HEADERS])

    def run(self, way: str, targets: list[str], *options: str) -> dict[str, object]:
        """Build targets anew: how long it took, how it ended, and which objects are there."""
        for name in targets:
            (BUILD / name).unlink(missing_ok=True)
        is_ours = way == "ours"
        launcher = f"{SHIM}/launch " if is_ours else ""
        rules = LAUNCHER.sub(f"  LAUNCHER = {launcher}", self._rules)
        (BUILD / "build.ninja").write_text(rules, encoding="utf-8")
        ninja = [str(ROOT / "venv/bin/ninja")] if is_ours else [str(SHIM / "ninja-real"), f"-j{self._jobs}"]
        path = f"{ROOT}/venv/bin:/usr/local/bin:/usr/bin:/bin"
        environ = {**os.environ, "MAX_JOBS": str(self._jobs), "PATH": path}
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [*ninja, *options, *targets], cwd=BUILD, env=environ, check=False, stdout=subprocess.PIPE
        )
        seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "way": way,
            "wall": seconds,
            "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "code": done.returncode,
            "failed": done.stdout.decode("utf-8", "replace").count("FAILED: "),
            "made": sum((BUILD / name).exists() for name in targets),
            "load": os.getloadavg()[0],
        }


def pairs(objects: int, parts: int, jobs: int) -> None:
    """The first of torch_cpu's objects in parts, each by both ways, now the one first and now the other."""
    tree = Tree(jobs)
    size = objects // parts
    for number in range(parts):
        part = tree.objects[number * size : (number + 1) * size]
        for way in ("ours", "bare") if number % 2 else ("bare", "ours"):
            tell({"pair": number, "objects": size, **tree.run(way, part)})


def heaviest(jobs: int) -> None:
    """The heaviest, by bare ninja, which goes on where an edge is killed, and by ours."""
    tree = Tree(jobs)
    targets = [name for name in tree.objects if HEAVIEST.search(name)]
    for way, options in (("bare", ("-k0",)), ("ours", ())):
        told = tree.run(way, targets, *options)
        left = json.loads((SHIM / "compile.json").read_text(encoding="utf-8")) if way == "ours" else {}
        tell({"objects": len(targets), **told, "supervisor": left})


def tell(row: dict[str, object]) -> None:
    """To who started us."""
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    {"pairs": pairs, "heaviest": heaviest}[sys.argv[1]](*map(int, sys.argv[2:]))
