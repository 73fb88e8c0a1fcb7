"""What nobody could tell before is looked at once, and expected from then on."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.errors import UsageError
from torchbuild.model.finding import Finding
from torchbuild.model.lock import Lock
from torchbuild.resolve.adopted import adopt, adopted, keep_adopted
from torchbuild.resolve.lockfile import parse_lock
from torchbuild.shim.cache import Entry
from torchbuild.shim.gate import compare

FILE = Path(__file__).parents[1] / "data" / "torch-2.6-cpu.lock"


@pytest.fixture(scope="module")
def lock() -> Lock:
    """A real lock."""
    return parse_lock(FILE.read_text(encoding="utf-8"), str(FILE))


def found(lock: Lock, **entries: Entry) -> list[Finding]:
    """What the real gate says of a cache with nothing but these entries."""
    rows = compare(entries, [item.model_dump(mode="json") for item in lock.expect])
    return [Finding.model_validate(row) for row in rows]


def test_what_is_adopted_is_expected_from_then_on(lock: Lock) -> None:
    """Each unexpected option with the state that was found, and the gate has nothing against it any more."""
    entries = {
        "USE_NEW": Entry("BOOL", "1"),
        "BUILD_OLD": Entry("BOOL", "OFF"),
        "USE_HIDDEN": Entry("INTERNAL", "1"),
    }
    made = adopt(lock, found(lock, **entries), "run-1")

    rows = {item.key: (item.value, item.kind, item.why) for item in adopted(made)}
    assert rows == {
        "USE_NEW": ("ON", "switch", "adopted: found by run run-1"),
        "BUILD_OLD": ("OFF", "switch", "adopted: found by run run-1"),
        "USE_HIDDEN": ("OFF", "switch", "adopted: found by run run-1"),
    }
    after = [item for item in found(made, **entries) if item.what.partition(" ")[0] in entries]
    assert {item.outcome for item in after} == {"passed"}
    left = [item.outcome for item in found(made, **entries) if item.reference == "gate-unexpected"]
    assert left == ["passed"]
    assert list(made.expect) == sorted(made.expect, key=lambda item: (item.key, item.reference))


def test_what_was_expected_otherwise_is_not_adopted(lock: Lock) -> None:
    """A value that differs from what was asked for stays refused: adopting is no way around the gate."""
    with pytest.raises(UsageError) as caught:
        adopt(lock, found(lock, USE_CUDA=Entry("BOOL", "ON")), "run-1")

    assert caught.value.reference == "nothing-to-adopt"


def test_a_new_lock_of_the_same_tree_keeps_it(lock: Lock) -> None:
    """Making the lock anew does not ask again; another tree does, and so does one that now tells by itself."""
    before = adopt(lock, found(lock, USE_NEW=Entry("BOOL", "1")), "run-1")
    other = lock.model_copy(update={"source": lock.source.model_copy(update={"patches": ()})})

    assert adopted(keep_adopted(before, lock)) == adopted(before)
    assert keep_adopted(before, before) == before
    assert keep_adopted(None, lock) == lock
    assert adopted(keep_adopted(before, other)) == ()
