"""A limit of memory without an engine: set where the machine allows it, refused where not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from torchbuild.edges.memory_group import memory_group
from torchbuild.errors import HostError


@contextmanager
def group_of(gib: float) -> Iterator[Path]:
    """A group, or a skip where this machine gives none."""
    try:
        with memory_group(gib) as processes:
            yield processes
    except HostError as error:
        pytest.skip(f"this machine lets us limit nothing: {error.why}")


def test_limit_is_set_and_gone_afterwards() -> None:
    """The group has the limit while it is used; afterwards it is not there."""
    with group_of(0.5) as processes:
        limits = [processes.with_name(name) for name in ("memory.limit_in_bytes", "memory.max")]
        seen = [path.read_text().strip() for path in limits if path.exists()]
    assert (seen, processes.parent.exists()) == ([str(1 << 29)], False)


def test_what_a_killed_run_left_is_swept() -> None:
    """A group whose maker is gone does not stay for ever."""
    with group_of(1) as processes:
        with subprocess.Popen(["/bin/true"]) as gone:
            gone.wait()
        left = processes.parent.with_name(f"torchbuild-{gone.pid}-0000")
        left.mkdir()
        with group_of(1):
            assert not left.exists()


def test_where_it_is_impossible_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that cannot be set ends the build: it is never silently without one."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(HostError) as caught, memory_group(1):
        pass
    assert caught.value.reference == "memory-not-limitable"
