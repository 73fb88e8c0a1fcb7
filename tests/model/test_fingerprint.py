"""What a build tree is made with, as a lock asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.model.fingerprint import Fingerprint, fingerprint_of
from torchbuild.model.lock import Lock
from torchbuild.shim import fingerprint as guest


def kept(lock: Lock) -> str:
    """As the build tree keeps it."""
    return json.dumps({"schema": 1, "asked": fingerprint_of(lock).asked, "tools": {}})


def test_the_same_lock_is_the_same(lock: Lock) -> None:
    """And another commit of the source is no other fingerprint: ninja knows what that changes."""
    other = lock.model_copy(update={"epoch": lock.epoch + 1})

    assert fingerprint_of(other).changes(kept(lock)) == ()


@pytest.mark.parametrize(
    ("update", "told"),
    [
        ({"gpu_archs": ("9.0",)}, "GPU architectures: was none, now 9.0"),
        ({"compiler": "g++ 13"}, "C++ compiler: was "),
        ({"defines": {"USE_X": "1"}}, "definition USE_X: was nothing, now 1"),
        ({"compiler_cache": "/usr/bin/ccache"}, "compiler cache: was none, now /usr/bin/ccache"),
    ],
)
def test_what_changed_is_named(lock: Lock, update: dict[str, Any], told: str) -> None:
    """With what it was and what it is."""
    (change,) = fingerprint_of(lock.model_copy(update=update)).changes(kept(lock))

    assert change.startswith(told)


def test_flags_are_told_by_variable(make_lock: Callable[..., Lock]) -> None:
    """One that is gone as well, and a long one by its beginning and its digest."""
    before = make_lock(environ={"CFLAGS": "-O2", "LDFLAGS": "-s", "LONG": "a" * 500})
    after = make_lock(environ={"CFLAGS": "-O3", "LONG": "a" * 501})

    told = fingerprint_of(after).changes(kept(before))

    assert told[:2] == (
        "variable CFLAGS: was -O2, now -O3",
        "variable LDFLAGS: was -s, now nothing",
    )
    assert told[2].startswith("variable LONG: was aaa")
    assert len(told[2]) < 500


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"asked": {"a": 1}}', "[" * 100_000])
def test_what_cannot_be_read_is_another(lock: Lock, text: str) -> None:
    """A tree of which nothing is known is not gone on with."""
    assert fingerprint_of(lock).changes(text) == ("it cannot be read",)


def test_no_tree_is_no_change(lock: Lock) -> None:
    """Nothing is there that could be another's."""
    assert fingerprint_of(lock).changes(None) == ()


def test_both_sides_mean_the_same_file() -> None:
    """What the build writes is what we read."""
    from torchbuild.model.fingerprint import FINGERPRINT

    assert guest.NAME == FINGERPRINT
    assert Fingerprint(asked={}).asked == {}
