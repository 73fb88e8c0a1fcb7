"""A pool of real distcc daemons, each in a network namespace: both compile, one dies, the build ends well."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build_hosts import BuildHost, build_hosts, until, why_none
from distribute import digests, lay_pool, lay_units
from supervised import Yard

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.timeout(600),
]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[BuildHost, ...]]:
    """Two machines that compile."""
    with build_hosts(2, tmp_path) as made:
        for host in made:
            host.start()
        yield made


def test_objects_are_the_same_wherever_they_are_compiled(
    hosts: tuple[BuildHost, ...], tmp_path: Path
) -> None:
    """Byte by byte, with one of two machines killed while it compiles."""
    yard = Yard(tmp_path / "yard")
    lay_units(yard, 8)
    assert yard.run(yard.ninja, "-j2")[0] == 0
    here = digests(yard.build)
    yard.clean()
    assert lay_pool(yard, hosts, slots=2) == []
    before = [host.compiled() for host in hosts]

    with yard.start(yard.ninja, "-j2") as ninja:
        until(lambda: all(host.compiled() > was for host, was in zip(hosts, before, strict=True)))
        hosts[0].kill()
        said, _ = ninja.communicate(timeout=300)

    assert ninja.returncode == 0, said
    assert digests(yard.build) == here
    assert len(here) == 8


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
        (tree / names[-1]).write_text(
            f"#include <map>\nint g{salt + number}(std::map<int, int>& m) {{ return m[{salt + number}]; }}\n",
            encoding="utf-8",
        )
    with (tree / "CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(f"add_library(more STATIC {' '.join(names)})\nadd_dependencies(torchlet more)\n")
    person = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for argv in (("add", "csrc"), ("commit", "--quiet", "-am", "more"), ("tag", "--force", "v1.0.0")):
        subprocess.run(["git", *person, *argv], cwd=tree, check=True, capture_output=True)
    return tree


def test_a_build_is_compiled_by_its_pool_through_the_relay(
    fresh: Any, arguments: Any, tree: Path, hosts: tuple[BuildHost, ...], tmp_path: Path
) -> None:
    """No network but these machines; the one that is gone is left out and told, and no lock knows of either."""
    gone, good = hosts
    gone.kill()
    pool = f'machine.distribute={{hosts=["{gone.endpoint}", "{good.address}/3"]}}'
    lock = arguments("recipe.toml", f"source.git={tree}", name=f"pool-{tmp_path.name.replace('_', '-')}"[:60])

    ended = fresh.good("build", *lock, "--set", pool, "--until", "package", "--json")

    report, by_reference = ended.compiled
    assert by_reference["pool-silent"]["what"].startswith(gone.endpoint)
    assert by_reference["pool-compiler"]["what"].startswith(good.endpoint)
    assert by_reference["pool-used"]["outcome"] == "passed"
    assert good.compiled() > 2, "more than the two that it was asked for before"
    assert set(report["allowed"]) >= {good.endpoint, gone.endpoint}
    assert good.endpoint not in Path(lock[lock.index("--lock") + 1]).read_text(encoding="utf-8")
