"""The stage that lays the wheel where it was asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.trees import StoreTrees
from torchbuild.errors import HostError, PublishError
from torchbuild.model.lock import Lock
from torchbuild.resolve.lockfile import parse_lock
from torchbuild.stages import publish


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """The lock travels with the wheel."""
    with nothing_moves():
        plan = publish.plan(lock)

    assert plan.needs == ("package", "verify")
    assert plan.lock == lock


@pytest.fixture
def make_wheel(make_known_wheel: Callable[..., Any]) -> Callable[..., Any]:
    """A wheel that was verified."""
    maker: Callable[..., Any] = make_known_wheel("verify")
    return maker


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
        f"{wheel.stem}.provenance.json",
        wheel.name,
        f"{wheel.name}.sha256",
    ]
    assert parse_lock((dist / f"{wheel.stem}.lock").read_text(encoding="utf-8"), "text") == lock
    assert (dist / f"{wheel.name}.sha256").read_text(encoding="utf-8") == f"{digest}  {wheel.name}\n"
    assert dict(result.evidence) == {
        "bytes": str(wheel.stat().st_size),
        "path": str(dist / wheel.name),
        "sha256": digest,
    }


def test_provenance_says_how_the_wheel_was_made(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """A wheel of an edited tree, or of a build that reached the network, is told from others for good."""
    wheel = make_wheel(world.inside("{dist}"))
    context = replace(world.context, is_dev=True, allowed=("open-network",), despite=("disk-space",))

    publish.run(publish.plan(lock), context)

    statement = json.loads((world.folder / "dist" / f"{wheel.stem}.provenance.json").read_text())
    definition = statement["predicate"]["buildDefinition"]
    assert (statement["subject"][0]["name"], definition["externalParameters"]["dev"]) == (wheel.name, True)
    assert definition["externalParameters"]["allowed"] == ["open-network"]
    assert definition["externalParameters"]["despite"] == ["disk-space"]
    lock_file = (world.folder / "dist" / f"{wheel.stem}.lock").read_bytes()
    assert definition["internalParameters"]["lock"]["digest"] == {
        "sha256": hashlib.sha256(lock_file).hexdigest()
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


def test_a_wheel_that_was_changed_while_it_was_verified_is_not_published(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """What is laid down is what was installed and used, byte for byte."""
    wheel = make_wheel(world.inside("{dist}"))
    wheel.write_bytes(b"another wheel")

    with pytest.raises(PublishError) as caught:
        publish.run(publish.plan(lock), world.context)

    assert caught.value.reference == "wheel-not-verified"
    assert not (world.folder / "dist").exists()


def test_a_wheel_that_nobody_verified_is_not_published(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """Without a digest to compare with, nothing is laid down."""
    make_wheel(world.inside("{dist}"))
    world.context.records.forget("verify")

    with pytest.raises(PublishError) as caught:
        publish.run(publish.plan(lock), world.context)

    assert caught.value.why[1] == "wanted sha256 of a wheel that was verified"


class Rotten(StoreTrees):
    """A file system that turns a byte on the way."""

    def copy(self, source: Path, target: Path) -> str:
        """Other bytes arrive."""
        other = source.with_name("other")
        other.write_bytes(source.read_bytes() + b"x")
        return super().copy(other, target)


def test_other_bytes_than_were_verified_do_not_pass_for_the_wheel(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """What arrived is compared with what left, and no digest is laid beside it."""
    wheel = make_wheel(world.inside("{dist}"))

    with pytest.raises(PublishError) as caught:
        publish.run(publish.plan(lock), replace(world.context, trees=Rotten(world.store)))

    assert caught.value.reference == "published-wheel-differs"
    assert not (world.folder / "dist" / f"{wheel.name}.sha256").exists()
