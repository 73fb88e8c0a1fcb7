"""A build waits where space is low, and keeps the store below its limit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.cli.disk_care import is_paused, store_kept_below, watch_disk
from torchbuild.cli.places import Places
from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import HostError
from torchbuild.model.command import Command
from torchbuild.model.recipe import Machine
from torchbuild.report.events import Event, Line, Warned


@pytest.fixture
def here(tmp_path: Path) -> Places:
    """A machine of its own."""
    return Places(cache=tmp_path / "cache", builds=tmp_path / "builds")


def files(desk: Any) -> list[Path]:
    """What the store holds."""
    return sorted(desk.places.store.glob("sha256/??/*"))


def test_a_pause_is_an_event_with_what_to_do(here: Places, tmp_path: Path) -> None:
    """A warning by name while space is low; the build waits for it and is not ended by it."""
    places = {name: tmp_path / name for name in ("root", "store", "cache")}
    executor = LocalExecutor(**places)
    events: list[Event] = []
    paused: list[bool] = []

    def emit(event: Event) -> None:
        events.append(event)
        paused.append(is_paused(executor))
        if isinstance(event, Warned):  # somebody frees space
            executor.watch._floor = 1  # type: ignore[union-attr]

    reporter: Any = SimpleNamespace(emit=emit)
    watch_disk(executor, Machine(disk_floor="999999 TiB"), here, tmp_path, reporter)
    script = "until test -e /torchbuild/cache/enough; do :; done"
    command = Command(argv=("/bin/sh", "-c", script), environ=(("PATH", "/usr/bin:/bin"),))
    executor.watch.report_to(_then(executor.watch._tell, tmp_path / "cache" / "enough"))  # type: ignore[union-attr]

    done = executor.run(command, log=tmp_path / "log")

    assert done.exit_code == 0
    assert [*paused, is_paused(executor)] == [True, False, False]
    low, back = events
    assert isinstance(low, Warned)
    assert low.reference == "disk-low"
    assert "torchbuild store gc" in low.text
    assert isinstance(back, Line)


def _then(tell: Any, path: Path) -> Any:
    """`tell`, and the end of the command once it goes on."""

    def both(text: str, is_low: bool) -> None:
        tell(text, is_low)
        if not is_low:
            path.touch()

    return both


def test_a_floor_of_nothing_watches_nothing(here: Places, tmp_path: Path) -> None:
    """Who has a small disk can say so."""
    executor = LocalExecutor(**{name: tmp_path / name for name in ("root", "store", "cache")})
    reporter: Any = SimpleNamespace(emit=lambda _event: None)

    watch_disk(executor, Machine(disk_floor="0"), here, tmp_path, reporter)

    assert executor.watch is None


def test_after_a_build_the_store_is_below_its_limit(desk: Any) -> None:
    """What its own lock names stays; what was removed is told."""
    desk.lock()
    desk.stored("pypi:x/x-1-py3-none-any.whl", b"not needed any more")
    assert len(files(desk)) == 2

    ended = desk.run("build", "tiny.toml", "--locked", "--until", "fetch", "--set", 'machine.store_max="1 B"')

    assert ended.code == 0
    assert "removed 1 items, 0.0 MB, for machine.store_max" in ended.err
    assert len(files(desk)) == 1


def test_without_a_limit_the_store_is_left_alone(desk: Any) -> None:
    """Nothing is removed that nobody asked for."""
    desk.lock()
    desk.stored("pypi:x/x-1-py3-none-any.whl", b"not needed any more")

    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")

    assert len(files(desk)) == 2


def test_a_build_that_failed_removes_nothing(desk: Any) -> None:
    """It will be tried again."""
    desk.stored("pypi:x/x-1-py3-none-any.whl", b"not needed any more")

    with (
        pytest.raises(ValueError, match="the build"),
        store_kept_below(Machine(store_max="1 B"), desk.places, lambda _text: None),
    ):
        raise ValueError("the build")

    assert len(files(desk)) == 1


@pytest.mark.parametrize("key", ["store_max", "disk_floor"])
def test_what_is_no_size_is_refused(desk: Any, key: str) -> None:
    """With what would be one."""
    desk.lock()

    ended = desk.run("build", "tiny.toml", "--locked", "--set", f'machine.{key}="much"')

    assert ended.code == 3
    assert "a size such as 20 GiB" in ended.err


def test_a_build_without_space_ends_with_what_may_go(here: Places, tmp_path: Path) -> None:
    """The largest of what we keep, each with the command that removes it; this run is not among them."""
    with open_workspace(here.builds, "old", store=here.store, cache=here.cache) as workspace:
        (workspace.path / "object.o").write_bytes(b"x" * (60 << 20))
    executor = LocalExecutor(**{name: tmp_path / name for name in ("root", "store", "cache")})
    reporter: Any = SimpleNamespace(emit=lambda _event: None)
    machine = Machine(disk_floor="999999 TiB", disk_patience_s=1)
    watch_disk(executor, machine, here, tmp_path, reporter)
    command = Command(argv=("/bin/sh", "-c", "while :; do :; done"), environ=(("PATH", "/usr/bin:/bin"),))

    with pytest.raises(HostError) as caught:
        executor.run(command, log=tmp_path / "log")

    assert "takes 0.1 GB: run old: torchbuild clean old" in caught.value.why
