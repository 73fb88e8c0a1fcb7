"""What `make demo` runs: torchlet from git to a verified wheel, then the same with a feature that gets lost.

Standard library and the `torchbuild` beside this interpreter. What it makes lies in .demo of the checkout;
downloads and workspaces are where torchbuild keeps them for you.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["main"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEMO = Path(".demo")
DIST = DEMO / "dist"
RECIPE = HERE.relative_to(ROOT) / "recipe.toml"
TORCHBUILD = Path(sys.executable).with_name("torchbuild")
REFUSED = 8
NO_MPI = "build.cmake.CMAKE_DISABLE_FIND_PACKAGE_MPI=TRUE"
"""Finds none even where there is one."""
PROVEN = {
    "toolchain": "interpreter, build requirements and compilers are those of the lock",
    "configure": "CMake made of the request what was asked for; looked at before anything was compiled",
    "package": "name, tags, RECORD, requirements, libraries, run paths and glibc of the finished wheel",
    "verify": "installed by digest into an empty environment, imported from there, and used",
}


def main() -> int:
    """Run the demonstration; the exit code of the first step that failed."""
    if not TORCHBUILD.is_file():
        print(f"error: no torchbuild beside {sys.executable}: run `make demo`", file=sys.stderr)
        return 1
    say("a git repository of a small project shaped like PyTorch, with a submodule")
    shutil.rmtree(ROOT / DEMO / "repos", ignore_errors=True)
    code = run(sys.executable, str(HERE / "make_repo.py"), str(DEMO / "repos"))
    if code:
        return code
    say("its wheel: fetched, configured, compared, compiled, inspected, installed and used")
    code = torchbuild("build", "torchlet", "--out", str(DIST))
    if code:
        return code
    show_wheel()
    say("the same, asked for MPI where none is found: the project's CMake turns it off with a warning")
    lost = ("name=torchlet-lost", "build.flags.USE_DISTRIBUTED=true", "build.flags.USE_MPI=true", NO_MPI)
    settings = (word for setting in lost for word in ("--set", setting))
    code = torchbuild("build", "lost", *settings, "--until", "configure")
    if code != REFUSED:
        return code or 1
    show_next()
    return 0


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}", flush=True)


def run(*argv: str) -> int:
    """Run a program with this terminal, in the checkout; its exit code."""
    return subprocess.run(argv, cwd=ROOT, check=False).returncode


def arguments(lock: str) -> tuple[str, ...]:
    """What every command on the recipe needs: where the repository is, and where the lock goes."""
    git = f"source.git={ROOT / DEMO / 'repos' / 'torchlet'}"
    return str(RECIPE), "--set", git, "--lock", str(DEMO / f"{lock}.lock")


def torchbuild(command: str, lock: str, *more: str) -> int:
    """Run torchbuild on the recipe."""
    return run(str(TORCHBUILD), command, *arguments(lock), *more)


def show_wheel() -> None:
    """Print the wheel and what the report says was looked at."""
    reports = sorted((ROOT / DIST).glob("*.report.json"), key=lambda path: path.stat().st_mtime)
    report: dict[str, Any] = json.loads(reports[-1].read_text(encoding="utf-8"))
    wheel = report["wheel"]
    print(f"\nThe wheel    {DIST / Path(wheel['path']).name}  ({wheel['size'] / 1000:.1f} kB)")
    print(f"             sha256 {wheel['sha256']}")
    print("What was proven")
    for stage in report["stages"]:
        if stage["stage"] in PROVEN:
            print(f"  {stage['stage']:9}  {counted(stage['findings'])}: {PROVEN[stage['stage']]}")
    for finding in (item for stage in report["stages"] for item in stage["findings"]):
        if finding["outcome"] == "not run":
            print(f"             not run: {finding['what']}")


def counted(findings: list[dict[str, str]]) -> str:
    """How many checks ended how."""
    counts = Counter(item["outcome"] for item in findings)
    return ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())


def show_next() -> None:
    """Print what to type next."""
    program = TORCHBUILD.relative_to(ROOT) if TORCHBUILD.is_relative_to(ROOT) else TORCHBUILD
    recipe = " ".join(arguments("torchlet"))
    print(f"""
That refusal was the point: the flag that got lost ended the build before one object was compiled.

Next
  {program} explain gate-refused
  {program} plan {recipe}
  {program} build {recipe} --out {DIST}      # again: nothing is done twice
  {program} store
  less {DIST}/*.report.json                  # every check with what it saw
  less recipes/debian/torch-2.6-cpu.toml     # the real thing; README.md says how to build it""")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
