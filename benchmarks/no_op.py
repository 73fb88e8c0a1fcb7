"""How long a build takes that has nothing to do: torchlet, built once, then built again and again.

Prints a table; see no-op.md. Needs the package index once. With a folder that is kept, later runs need none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from turns import Row, Times, in_turns, print_table, timed

from torchbuild.edges.local import LocalExecutor
from torchbuild.model.command import Command

__all__ = ["main"]

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "torchlet"
TORCHBUILD = Path(sys.executable).with_name("torchbuild")

TIMER = """
import json, resource, subprocess, sys, time
argv, runs, rows = sys.argv[2:], int(sys.argv[1]), []
for _ in range(runs):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    rows.append([seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime])
print(json.dumps(rows))
"""
"""Runs inside the build, where the paths of the build tree exist."""


def main() -> int:
    """Measure and print; exit code 1 where the fast check takes more than half a second at its best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="of each command")
    parser.add_argument("--folder", type=Path, help="where caches and the build are kept; default: nowhere")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torchbuild-no-op-") as temporary:
        rows = measured(options.folder or Path(temporary), options.runs)
    print_table(rows, options.runs)
    return 0 if min(item[0] for item in rows["`torchbuild build`"]) <= 0.5 else 1  # noqa: PLR2004  the promise


def measured(folder: Path, runs: int) -> Times:
    """Every command's times, taken in turns, so that a busy minute falls on all of them alike."""
    build = _build(folder)
    ended = json.loads(_run([*build, "--json"]).stdout)
    root = folder / "builds" / ended["run"] / "root"
    commands: dict[str, Callable[[], list[Row]]] = {
        "`torchbuild build`": lambda: [timed(build)],
        "`torchbuild build --paranoid`": lambda: [timed([*build, "--paranoid"])],
        "`torchbuild --version`": lambda: [timed([str(TORCHBUILD), "--version"])],
        "`python -c pass`": lambda: [timed([sys.executable, "-c", "pass"])],
    }
    rows = in_turns(commands, runs)
    rows["`ninja -n` of the same build tree"] = _ninja(root, folder, runs)
    return rows


def _build(folder: Path) -> list[str]:
    """The command that builds torchlet from a repository in `folder`."""
    if not (folder / "repo").exists():
        _run([sys.executable, str(EXAMPLE / "make_repo.py"), str(folder / "repo")])
    os.environ |= {"TORCHBUILD_CACHE": str(folder / "cache"), "TORCHBUILD_BUILDS": str(folder / "builds")}
    # as an installed program has it: without this, some machines compile every module anew at each start
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    where = ["--set", f"source.git={folder / 'repo' / 'torchlet'}", "--lock", str(folder / "torchlet.lock")]
    recipe = str(EXAMPLE / "recipe.toml")
    return [str(TORCHBUILD), "build", recipe, *where, "--out", str(folder / "dist")]


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE)


def _ninja(root: Path, folder: Path, runs: int) -> list[Row]:
    executor = LocalExecutor(root=root, store=folder / "cache" / "store", cache=folder / "cache" / "compiler")
    ninja = ("{shim}/ninja-real", "-n", "-C", "{source}/build")
    log = folder / "ninja.log"
    executor.run(Command(argv=("{venv}/bin/python", "-c", TIMER, str(runs), *ninja)), log=log)
    return [(float(wall), float(cpu)) for wall, cpu in json.loads(log.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main())
