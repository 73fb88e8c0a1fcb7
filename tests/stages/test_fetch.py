"""The stage that brings every byte of the lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import FetchError
from torchbuild.model.lock import Lock, LockedPatch, LockedSource, LockedSubmodule
from torchbuild.report.events import Progress, StageStarted
from torchbuild.stages import fetch

PIP = "pip-26.0-py3-none-any.whl"
MAKES = Callable[..., Lock]


def served(world: Any, *artifacts: Any) -> None:
    """The network has the content that the fixtures' wheels have: their name."""
    world.network.files |= {item.locator: item.name.encode() for item in artifacts}


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """Planning opens nothing and starts nothing."""
    with nothing_moves():
        plan = fetch.plan(lock)

    assert plan.commands == ()
    assert [item.name for item in plan.artifacts] == [PIP, "ninja-1.13.0-py3-none-any.whl"]
    assert [(item.path, item.commit) for item in plan.repositories] == [(".", "a" * 40)]


def test_wheels_are_laid_out_by_name_and_use(
    world: Any, make_lock: MAKES, artifact: Callable[..., Any]
) -> None:
    """Each environment installs from a folder of its own, in which nothing else lies."""
    filelock = artifact("filelock-3.0-py3-none-any.whl")
    numpy = artifact("numpy-2.0-cp313-cp313-linux_x86_64.whl")
    lock = make_lock(run_requires=(filelock,), verify_requires=(numpy,))
    served(world, *lock.artifacts())
    world.write("{work}/inputs/build/left-over.whl", "from another lock")

    result = fetch.run(fetch.plan(lock), world.context)

    inputs = world.inside("{work}/inputs")
    laid = sorted(str(path.relative_to(inputs)) for path in inputs.rglob("*.whl"))
    assert laid == [
        "build/ninja-1.13.0-py3-none-any.whl",
        f"build/{PIP}",
        "run/filelock-3.0-py3-none-any.whl",
        "verify/numpy-2.0-cp313-cp313-linux_x86_64.whl",
    ]
    size = sum(len(item.name) for item in lock.artifacts())
    assert dict(result.evidence) == {"files": "4", "bytes": str(size)}


def test_every_commit_is_fetched(world: Any, make_lock: MAKES) -> None:
    """Submodules are there before anything is built, at their own commits."""
    module = LockedSubmodule(path="third_party/fmt", url="https://example.org/fmt", commit="b" * 40)
    source = LockedSource(
        kind="git", url="https://example.org/torchlet", commit="a" * 40, submodules=(module,)
    )
    lock = make_lock(source=source)
    served(world, *lock.artifacts())

    result = fetch.run(fetch.plan(lock), world.context)

    assert world.git.fetched == [
        ("https://example.org/torchlet", "a" * 40),
        ("https://example.org/fmt", "b" * 40),
    ]
    assert result.summary.endswith("2 repositories")


def test_archives_and_patches_are_fetched_too(world: Any, make_lock: MAKES) -> None:
    """All that later stages take from the store is in it, the recipe's own files included."""
    archive = world.stored("https://example.org/torchlet.tar.gz", b"archive")
    patch = world.stored("file:fix.patch", b"patch")
    source = LockedSource(
        kind="archive",
        artifact=archive,
        patches=(LockedPatch(name="fix.patch", sha256=patch.sha256, origin="recipe:fix.patch"),),
    )
    lock = make_lock(source=source)
    served(world, *lock.artifacts())

    fetch.run(fetch.plan(lock), world.context)

    asked = [item.locator for item in world.network.asked]
    assert asked[:2] == ["https://example.org/torchlet.tar.gz", "file:fix.patch"]
    assert world.git.fetched == []


def test_progress_is_told_in_bytes_and_repositories(world: Any, lock: Lock) -> None:
    """A person watching sees what comes, and from where."""
    served(world, *lock.artifacts())

    fetch.run(fetch.plan(lock), world.context)

    told = [event for event in world.events if isinstance(event, Progress)]
    assert [event.unit for event in told] == ["bytes", "bytes", "files"]
    assert told[0].what == PIP
    assert told[-1].what == f". at {'a' * 12}"


def test_a_damaged_store_is_found_out(world: Any, lock: Lock) -> None:
    """A file whose bytes are not what its name says is refused before anything installs it."""
    served(world, *lock.artifacts())
    fetch.run(fetch.plan(lock), world.context)
    place = world.store.get(lock.build_requires[0].sha256)
    place.chmod(0o644)
    place.write_bytes(b"rot")

    with pytest.raises(FetchError) as caught:
        fetch.run(fetch.plan(lock), world.with_target("any"))

    assert caught.value.reference == "stored-file-damaged"
    assert str(place) in caught.value.what
    assert "--paranoid" in caught.value.fix


def test_a_file_that_did_not_arrive_is_missed(world: Any, lock: Lock) -> None:
    """What the network says is there, and is not, is no input."""
    world.network.fetch = lambda _artifacts, _progress: None

    with pytest.raises(FetchError) as caught:
        fetch.run(fetch.plan(lock), world.context)

    assert caught.value.reference == "stored-file-gone"


def done(world: Any, lock: Lock) -> None:
    """The stage, and nothing of it in the lists of what was asked for."""
    served(world, *lock.artifacts())
    fetch.run(fetch.plan(lock), world.context)
    world.network.asked.clear()
    world.git.fetched.clear()
    world.events.clear()


def test_what_is_still_there_is_not_fetched_again(world: Any, lock: Lock) -> None:
    """A build in which nothing is left to do asks nobody anything."""
    done(world, lock)

    assert fetch.restore(fetch.plan(lock), world.context) is False
    assert (world.network.asked, world.git.fetched, world.events) == ([], [], [])


def test_what_is_gone_from_the_store_comes_back(world: Any, lock: Lock) -> None:
    """Who emptied the store need not know which of its files a workspace still wants."""
    done(world, lock)
    world.store.remove(lock.build_requires[0].sha256)
    laid = world.inside("{work}/inputs/build") / PIP
    before = laid.stat()

    assert fetch.restore(fetch.plan(lock), world.context) is True
    assert world.store.get(lock.build_requires[0].sha256) is not None
    assert laid.stat() == before
    assert isinstance(world.events[0], StageStarted)


def test_a_commit_that_is_gone_from_the_cache_comes_back(world: Any, lock: Lock) -> None:
    """The tree's own or a submodule's."""
    done(world, lock)
    world.git.gone = {"a" * 40}

    assert fetch.restore(fetch.plan(lock), world.context) is True
    assert world.git.gone == set()
    assert fetch.restore(fetch.plan(lock), world.context) is False


def test_a_file_of_another_size_does_not_pass_for_the_locked_one(world: Any, make_lock: MAKES) -> None:
    """A store on a disk that lost its end is named, before anything uses it."""
    archive = world.stored("https://example.org/torchlet.tar.gz", b"archive")
    lock = make_lock(source=LockedSource(kind="archive", artifact=archive))
    done(world, lock)
    place = world.store.get(archive.sha256)
    place.chmod(0o644)
    place.write_bytes(b"arch")

    with pytest.raises(FetchError) as caught:
        fetch.restore(fetch.plan(lock), world.with_target("any"))

    assert caught.value.reference == "stored-file-damaged"
