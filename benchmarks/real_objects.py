"""Real objects of torch_cpu, by bare ninja and by ours: the part that runs in the builder, by its Python.

Started by overhead.py and memory_real.py; prints a line of JSON for each run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
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

    def __init__(self, jobs: int, limit_s: float = 7200) -> None:
        """Make the headers that objects wait for.

        Args:
            jobs: compilers at once.
            limit_s: what is not done by then is ended: code None.
        """
        self._jobs, self._limit_s = jobs, limit_s
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
        code, said = _ended([*ninja, *options, *targets], environ, self._limit_s)
        seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "way": way,
            "wall": seconds,
            "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "code": code,
            "failed": said.count("FAILED: "),
            "made": sum((BUILD / name).exists() for name in targets),
            "load": os.getloadavg()[0],
        }


def _ended(argv: list[str], environ: dict[str, str], limit_s: float) -> tuple[int | None, str]:
    """Exit code and output; None where it was ended, with all that it started: in here nobody else runs."""
    with subprocess.Popen(
        argv, cwd=BUILD, env=environ, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.kill(-1, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, said


def pairs(*counts: str) -> None:
    """The first of torch_cpu's objects in parts, each by both ways, now the one first and now the other.

    Args:
        counts: objects, parts, compilers at once.
    """
    objects, parts, jobs = map(int, counts)
    tree = Tree(jobs)
    size = objects // parts
    for number in range(parts):
        part = tree.objects[number * size : (number + 1) * size]
        for way in ("ours", "bare") if number % 2 else ("bare", "ours"):
            tell({"pair": number, "objects": size, **tree.run(way, part)})


def heaviest(jobs: str, limit_s: str, *ways: str) -> None:
    """The heaviest, by bare ninja, which goes on where an edge is killed, and by ours."""
    tree = Tree(int(jobs), int(limit_s))
    targets = [name for name in tree.objects if HEAVIEST.search(name)]
    for way in ways:
        told = tree.run(way, targets, *(("-k0",) if way == "bare" else ()))
        left = json.loads((SHIM / "compile.json").read_text(encoding="utf-8")) if way == "ours" else {}
        tell({"objects": len(targets), **told, "supervisor": left})


def tell(row: dict[str, object]) -> None:
    """To who started us."""
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    {"pairs": pairs, "heaviest": heaviest}[sys.argv[1]](*sys.argv[2:])
