"""The stage that lays the wheel where it was asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import HostError
from torchbuild.model.lock import Lock
from torchbuild.resolve.lockfile import parse_lock
from torchbuild.stages import publish


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """The lock travels with the wheel."""
    with nothing_moves():
        plan = publish.plan(lock)

    assert plan.needs == ("package", "verify")
    assert parse_lock(plan.lock_text, "text") == lock


def test_wheel_digest_and_lock_lie_beside_each_other(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """Whoever gets the folder can check the wheel and build it again."""
    wheel = make_wheel(world.inside("{dist}"))

    result = publish.run(publish.plan(lock), world.context)

    dist = world.folder / "dist"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert sorted(path.name for path in dist.iterdir()) == [
        f"{wheel.stem}.lock",
        wheel.name,
        f"{wheel.name}.sha256",
    ]
    assert (dist / f"{wheel.name}.sha256").read_text(encoding="utf-8") == f"{digest}  {wheel.name}\n"
    assert dict(result.evidence) == {
        "bytes": str(wheel.stat().st_size),
        "path": str(dist / wheel.name),
        "sha256": digest,
    }


def test_the_same_wheel_is_left_alone(world: Any, lock: Lock, make_wheel: Callable[..., Any]) -> None:
    """A second run touches nothing that others may be reading."""
    wheel = make_wheel(world.inside("{dist}"))
    publish.run(publish.plan(lock), world.context)
    before = (world.folder / "dist" / wheel.name).stat()

    result = publish.run(publish.plan(lock), world.context)

    assert (world.folder / "dist" / wheel.name).stat() == before
    assert result.summary.endswith("(the same wheel was there)")


def test_another_wheel_of_that_name_is_replaced_whole(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """The name never stands for half a wheel, and nothing temporary is left."""
    wheel = make_wheel(world.inside("{dist}"))
    (world.folder / "dist").mkdir()
    (world.folder / "dist" / wheel.name).write_bytes(b"an older build")

    publish.run(publish.plan(lock), world.context)

    assert (world.folder / "dist" / wheel.name).read_bytes() == wheel.read_bytes()
    assert not list((world.folder / "dist").glob(".*"))


def test_a_folder_that_cannot_be_made_is_the_owners_to_mend(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """A file in the way is said as such, not as a crash."""
    make_wheel(world.inside("{dist}"))
    (world.folder / "dist").write_text("a file", encoding="utf-8")

    with pytest.raises(HostError):
        publish.run(publish.plan(lock), world.context)
