"""What a pool of two machines does for a build, and what becomes of it when they die: real distcc, as root.

Prints a table; see distribute.md. The machines are network namespaces of this one and share its processors:
seconds say nothing of a real pool. What counts is who compiled, that the build ends, and that objects are the
same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from build_hosts import BuildHost, build_hosts, until, why_none
from supervised import Yard

from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import judged
from torchbuild.resolve.pool_orders import pool_request, pool_told
from torchbuild.shim import look_pool

__all__ = ["digests", "lay_pool", "lay_units", "main"]

CXX = Path("/usr/bin/c++")
_UNIT = """\
#include <map>
#include <string>
#include <vector>
int f{number}(const std::vector<std::string>& words) {{
  std::map<std::string, int> seen;
  for (const auto& word : words) seen[word] += {number};
  return static_cast<int>(seen.size());
}}
"""
_HEAD = """\
| machines | wall, s | first compiled | second compiled | came back | compiled here | objects as here |
|---|---|---|---|---|---|---|"""


def lay_units(yard: Yard, count: int) -> None:
    """So many sources, and the rules that compile them."""
    for number in range(count):
        (yard.build.parent / f"u{number}.cpp").write_text(_UNIT.format(number=number), encoding="utf-8")
    lines = "".join(f"build u{number}.o: cxx ../u{number}.cpp\n" for number in range(count))
    flags = "-O2 -fPIC -std=gnu++17 -MD -MF $out.d"
    yard.write(f"rule cxx\n  command = {yard.launch} {CXX} {flags} -c $in -o $out\n{lines}")


def lay_pool(yard: Yard, hosts: Sequence[BuildHost], slots: int) -> list[str]:
    """Look at the machines as a build does, and order those that can be used; what was said of all."""
    distribute = Distribute(hosts=tuple(host.endpoint for host in hosts), slots=slots)
    request = json.loads(pool_request(distribute, ("/usr/bin/cc", str(CXX))))
    usable, findings = judged(distribute, look_pool.look(request))
    told = json.loads(pool_told(distribute, usable, ("/usr/bin/cc", str(CXX))))
    told["environ"]["DISTCC_DIR"] = str(yard.root)
    (yard.shim / "pool.json").write_text(json.dumps(told), encoding="utf-8")
    return [
        f"{item.what}: {item.seen}; wanted {item.wanted}" for item in findings if item.outcome != "passed"
    ]


def digests(folder: Path) -> dict[str, str]:
    """Of all objects."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.o")}


def main() -> int:
    """Run each way once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=24, help="sources")
    parser.add_argument("--jobs", type=int, default=2, help="of this machine")
    parser.add_argument("--slots", type=int, default=2, help="of each machine of the pool")
    parser.add_argument("--other", type=Path, help="another C++ compiler, for a machine that is left out")
    options = parser.parse_args()
    if why_none():
        print(why_none(), file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # daemons are another user
    try:
        _measure(folder, options)
    finally:
        shutil.rmtree(folder)
    return 0


def _measure(folder: Path, options: argparse.Namespace) -> None:
    yard = Yard(folder / "yard")
    lay_units(yard, options.units)
    print(f"{options.units} units, {options.jobs} jobs here, twice {options.slots} slots; {_versions()}\n")
    print(_HEAD)
    here: dict[str, str] = {}
    notes: list[str] = []
    ways = [("none", 0, None), ("two", 0, None), ("two, one killed", 1, None), ("two, both killed", 2, None)]
    if options.other:
        ways.append(("two, one with another compiler", 0, options.other))
    for number, (name, kills, other) in enumerate(ways):
        place = folder / str(number)
        place.mkdir()
        with build_hosts(2 if number else 0, place, slots=options.slots) as hosts:
            cells, told = _one(yard, hosts, options, kills, other)
        notes += [f"{name}: {text}" for text in told]
        here = here or digests(yard.build)
        same = sum(here[key] == value for key, value in digests(yard.build).items())
        print(f"| {name} | {' | '.join(cells)} | {same} of {len(here)} |", flush=True)
    print("\n" + "\n".join(notes))


def _one(
    yard: Yard, hosts: tuple[BuildHost, ...], options: argparse.Namespace, kills: int, other: Path | None
) -> tuple[list[str], list[str]]:
    yard.clean()
    (yard.shim / "pool.json").unlink(missing_ok=True)
    for host in hosts:
        is_other = other is not None and host is hosts[0]
        host.start(instead=(_wrapped(other, yard.root), CXX.resolve()) if is_other and other else None)
    notes = lay_pool(yard, hosts, options.slots) if hosts else []
    before = [host.compiled() for host in hosts]
    begin = time.monotonic()
    with yard.start(yard.ninja, f"-j{options.jobs}") as ninja:
        if kills:
            until(lambda: all(host.compiled() > was + 1 for host, was in zip(hosts, before, strict=True)))
        for host in hosts[:kills]:
            host.kill()
        said, _ = ninja.communicate(timeout=1200)
    if ninja.returncode != 0:
        raise RuntimeError(said)
    seconds = time.monotonic() - begin
    done = [host.compiled() - was for host, was in zip(hosts, before, strict=True)] or [0, 0]
    left = yard.left()
    used = json.loads((yard.shim / "pool-used.json").read_text(encoding="utf-8")) if hosts else {"hosts": {}}
    back = sum(row["back"] for row in used["hosts"].values())
    notes += [
        f"came back: {count} of {why}" for row in used["hosts"].values() for why, count in row["why"].items()
    ]
    return [f"{seconds:.1f}", *map(str, done), str(back), str(left["edges_admitted"])], notes


def _wrapped(program: Path, folder: Path) -> Path:
    place = folder / "other"
    place.write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
    place.chmod(0o755)
    return place


def _versions() -> str:
    words = [["distcc", "--version"], [str(CXX), "--version"]]
    texts = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout for argv in words]
    return "; ".join(text.split("\n", maxsplit=1)[0] for text in texts)


if __name__ == "__main__":
    sys.exit(main())
