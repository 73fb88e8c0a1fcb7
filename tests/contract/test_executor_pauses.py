"""A command can be made to wait and to go on, whatever executor runs it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.container import ContainerExecutor
from torchbuild.edges.disk_watch import DiskWatch
from torchbuild.edges.local import LocalExecutor
from torchbuild.model.command import Command

WRITER = "echo up >/torchbuild/cache/ready; while ! test -e /torchbuild/cache/enough; do echo x; done"


class Counted:
    """A place of the machine whose free space the test decides."""

    def __init__(self) -> None:
        self.is_low = False

    def low(self) -> tuple[Path, int] | None:
        """What the watch asks for."""
        return (Path("/"), 0) if self.is_low else None


@pytest.fixture(params=["local", pytest.param("container", marks=pytest.mark.container)])
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each executor that runs processes here, or has an engine run them."""
    places = {name: tmp_path / name for name in ("root", "store", "cache")}
    if request.param == "local":
        return LocalExecutor(**places)
    engine, image = request.getfixturevalue("engine"), request.getfixturevalue("image")
    return ContainerExecutor(engine=engine, image=image, **places)


def test_a_command_stands_still_while_space_is_low(executor: Any, tmp_path: Path) -> None:
    """Its log does not grow, and afterwards it ends as it would have."""
    log, disk, grown = tmp_path / "log", Counted(), []
    executor.watch = watch = DiskWatch([tmp_path], 1, interval_s=0.02)
    watch._low = disk.low  # type: ignore[method-assign]

    def tell(_text: str, is_low: bool) -> None:
        if is_low:
            threading.Event().wait(0.2)  # what is in the pipes still arrives
            before = log.stat().st_size
            threading.Event().wait(0.3)
            grown.append(log.stat().st_size - before)
            disk.is_low = False
        else:
            (tmp_path / "cache" / "enough").touch()

    watch.report_to(tell)
    os.mkfifo(tmp_path / "cache" / "ready")

    def begin() -> None:
        with (tmp_path / "cache" / "ready").open() as pipe:
            pipe.readline()
        disk.is_low = True

    threading.Thread(target=begin, daemon=True).start()
    command = Command(argv=("/bin/sh", "-c", WRITER), environ=(("PATH", "/usr/bin:/bin"),))

    done = executor.run(command, log=log)

    assert (done.exit_code, grown) == (0, [0])
    assert log.stat().st_size > 0
