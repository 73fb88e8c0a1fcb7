"""The look at machines that compile for this one, before anything is compiled."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.compile_pool import pool_looked_at, pool_slots, pool_used
from torchbuild.errors import HostError
from torchbuild.model.command import Command
from torchbuild.model.recipe_distribute import Distribute

FRONT_END = Command(argv=("python",), environ=(("CC", "/usr/bin/gcc"), ("CXX", "/usr/bin/g++")))
SAME = {"outcome": "same", "own": "GCC 14", "seen": "GCC 14"}


class World:
    """As much of one as the look needs: files of a folder, and a guest that says what it is told to say."""

    def __init__(self, folder: Path, distribute: Distribute | None, said: str) -> None:
        self.folder, self.said = folder, said
        self.commands: list[Command] = []
        self.told: list[Any] = []
        self.context: Any = SimpleNamespace(
            distribute=distribute,
            workspace=SimpleNamespace(logs=folder, inside=self.inside),
            trees=SimpleNamespace(
                read=lambda path: path.read_text() if path.exists() else None,
                write=lambda path, text: path.write_text(text),
                make=lambda path: path.mkdir(exist_ok=True),
                remove=lambda path: path.rmdir() if path.is_dir() else path.unlink(missing_ok=True),
            ),
            executor=SimpleNamespace(run=self._run),
            reporter=SimpleNamespace(emit=lambda event: self.told.append(event.finding)),
        )

    def inside(self, path: str) -> Path:
        """A place of the build."""
        return self.folder / path.rsplit("/", maxsplit=1)[-1]

    def _run(self, command: Command, *, log: Path) -> Any:
        self.commands.append(command)
        log.write_text(self.said, encoding="utf-8")
        return SimpleNamespace(log=log, exit_code=0)


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """A world with two machines."""

    def build(hosts: dict[str, Any] | None, *, program: str = "", **more: Any) -> World:
        said = "noise\n" + json.dumps({"program": program, "hosts": hosts}, indent=1) if hosts else "noise"
        return World(tmp_path, Distribute(hosts=("a", "b"), **more), said)

    return build


def test_without_a_pool_nothing_is_run_and_no_old_order_stays(tmp_path: Path) -> None:
    """A pool of the last build is not this one's."""
    world = World(tmp_path, None, "")
    (tmp_path / "pool.json").write_text("{}", encoding="utf-8")

    assert pool_looked_at(FRONT_END, world.context) == ()
    assert world.commands == []
    assert not (tmp_path / "pool.json").exists()


def test_machines_that_compile_as_we_do_are_ordered(make: Any) -> None:
    """It is asked where the compilers run, with their environment, and told before anything is compiled."""
    world = make({"a:3632": SAME, "b:3632": {"outcome": "silent", "own": "", "seen": "refused"}})

    findings = pool_looked_at(FRONT_END, world.context)

    (command,) = world.commands
    assert command.environ == FRONT_END.environ
    assert command.network == "none"
    assert json.loads(world.inside("pool-asked.json").read_text())["compilers"] == [
        "/usr/bin/gcc",
        "/usr/bin/g++",
    ]
    ordered = json.loads(world.inside("pool.json").read_text())
    assert [host["name"] for host in ordered["hosts"]] == ["a:3632"]
    assert pool_slots(world.context) == 4
    assert tuple(world.told) == findings
    assert [item.outcome for item in findings] == ["passed", "warned"]


def test_a_pool_that_is_gone_lets_the_build_go_on_here(make: Any) -> None:
    """Told, never silent."""
    world = make(None)

    findings = pool_looked_at(FRONT_END, world.context)

    assert [item.reference for item in findings] == ["pool-program"]
    assert not world.inside("pool.json").exists()
    assert pool_slots(world.context) == 0


def test_a_pool_that_is_required_ends_it(make: Any) -> None:
    """Before anything is compiled, with what is wrong with each machine."""
    other = {"outcome": "differs", "own": "GCC 14", "seen": "GCC 12"}
    world = make({"a:3632": other, "b:3632": other}, required=True)

    with pytest.raises(HostError) as caught:
        pool_looked_at(FRONT_END, world.context)

    assert caught.value.reference == "pool-unusable"
    assert len(caught.value.why) == 2
    assert "GCC 12" in caught.value.why[0]


def test_what_became_of_it_is_told_after_the_build(make: Any) -> None:
    """Also where nothing was left."""
    world = make({"a:3632": SAME})
    assert pool_used(world.context) == ()
    row = {"sent": 2, "done": 2, "back": 0, "why": {}}
    world.inside("pool-used.json").write_text(json.dumps({"hosts": {"a:3632": row}, "stayed": {}}))

    (finding,) = pool_used(world.context)

    assert finding.outcome == "passed"
    assert world.told == [finding]
