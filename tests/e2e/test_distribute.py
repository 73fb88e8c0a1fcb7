"""A pool of real distcc daemons, each in a network namespace: both compile, one dies, the build ends well."""

from __future__ import annotations

import hashlib
import json
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from build_hosts import BuildHost, build_hosts, why_none
from supervised import Yard

from torchbuild.model.recipe_distribute import Distribute
from torchbuild.resolve.distribution import members, pool_told

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.timeout(600),
]
UNIT = """\
#include <map>
#include <string>
#include <vector>
int f{number}(const std::vector<std::string>& words) {{
  std::map<std::string, int> seen;
  for (const auto& word : words) seen[word] += {number};
  return static_cast<int>(seen.size());
}}
"""


def until(happened: Callable[[], bool], seconds: float = 120) -> None:
    """Look until it has happened; what never does is a failure."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        select.select([], [], [], 0.02)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[BuildHost, ...]]:
    """Two machines that compile."""
    with build_hosts(2, tmp_path) as made:
        for host in made:
            host.start()
        yield made


def digests(folder: Path) -> dict[str, str]:
    """Of all objects."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.o")}


def test_objects_are_the_same_wherever_they_are_compiled(
    hosts: tuple[BuildHost, ...], tmp_path: Path
) -> None:
    """Byte by byte, with one of two machines killed while it compiles."""
    yard = Yard(tmp_path / "yard")
    for number in range(12):
        (yard.build.parent / f"u{number}.cpp").write_text(UNIT.format(number=number), encoding="utf-8")
    flags = "-O2 -fPIC -std=gnu++17 -MD -MF $out.d"
    lines = "".join(f"build u{number}.o: cxx ../u{number}.cpp\n" for number in range(12))
    yard.write(f"rule cxx\n  command = {yard.launch} /usr/bin/c++ {flags} -c $in -o $out\n{lines}")
    assert yard.run(yard.ninja, "-j2")[0] == 0
    here = digests(yard.build)
    yard.clean()
    distribute = Distribute(hosts=tuple(host.endpoint for host in hosts), slots=2)
    told = json.loads(pool_told(distribute, members(distribute)))
    told["environ"]["DISTCC_DIR"] = str(tmp_path)
    (yard.shim / "pool.json").write_text(json.dumps(told), encoding="utf-8")

    with yard.start(yard.ninja, "-j2") as ninja:
        until(lambda: all(host.compiled() > 0 for host in hosts))
        hosts[0].kill()
        said, _ = ninja.communicate(timeout=300)

    assert ninja.returncode == 0, said
    assert digests(yard.build) == here
    assert len(here) == 12


@pytest.fixture
def tree(repos: Path, tmp_path: Path) -> Path:
    """Torchlet with more to compile, which no compiler cache knows."""
    for name in ("torchlet", "nanofmt"):
        shutil.copytree(repos / name, tmp_path / "repos" / name, symlinks=True)
    tree = tmp_path / "repos" / "torchlet"
    salt = hash(str(tmp_path)) & 0xFFFFFF
    names = []
    for number in range(8):
        names.append(f"csrc/more{number}.cpp")
        (tree / names[-1]).write_text(UNIT.format(number=salt * 10 + number), encoding="utf-8")
    with (tree / "CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(f"add_library(more STATIC {' '.join(names)})\nadd_dependencies(torchlet more)\n")
    person = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for argv in (("add", "csrc"), ("commit", "--quiet", "-am", "more"), ("tag", "--force", "v1.0.0")):
        subprocess.run(["git", *person, *argv], cwd=tree, check=True, capture_output=True)
    return tree


def test_a_build_is_compiled_by_its_pool_through_the_relay(
    fresh: Any, arguments: Any, tree: Path, hosts: tuple[BuildHost, ...], tmp_path: Path
) -> None:
    """No network but these machines; one with another compiler and one that is gone are left out, and told."""
    other = tmp_path / "other"
    other.write_text('#!/bin/sh\nexec /usr/bin/c++ "$@" -O0 -fno-ident\n', encoding="utf-8")
    other.chmod(0o755)
    gone, good = hosts
    gone.kill()
    pool = f'machine.distribute={{hosts=["{gone.endpoint}", "{good.address}/3"]}}'
    lock = arguments("recipe.toml", f"source.git={tree}", name=f"pool-{tmp_path.name.replace('_', '-')}"[:60])

    ended = fresh.good("build", *lock, "--set", pool, "--until", "package", "--json")

    report = json.loads(Path(ended.json["report"]).read_text(encoding="utf-8"))
    found = [item for one in report["stages"] if one["stage"] == "compile" for item in one["findings"]]
    by_reference = {item["reference"]: item for item in found}
    assert by_reference["pool-silent"]["what"].startswith(gone.endpoint)
    assert by_reference["pool-compiler"]["what"].startswith(good.endpoint)
    assert by_reference["pool-used"]["outcome"] == "passed"
    assert good.compiled() >= 2 + 8
    assert set(report["allowed"]) >= {good.endpoint, gone.endpoint}
    assert good.endpoint not in Path(lock[lock.index("--lock") + 1]).read_text(encoding="utf-8")
