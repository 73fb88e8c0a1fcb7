"""One cache, several builds folders: what a lock of any of them names is known to all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from torchbuild.edges.git_cache import bare_of
from torchbuild.edges.live_locks import Registered, forget, names_of, register, registered

DIGEST = "ab" * 32
URL = "https://git.example/project.git"
LOCK = f'url = "{URL}"\nsecret = "our-project"\nsha256 = "{DIGEST}"\n'
MONTH_S = 31 * 86400


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Where the entries are."""
    return tmp_path / "live"


def one(live: Path) -> Registered:
    """The only entry."""
    (found,) = registered(live)
    return found


def elsewhere(live: Path, *, age_s: float = 0) -> None:
    """The entry as another machine would have made it, that long ago."""
    entry = one(live).entry
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"machine": "another"}))
    then = entry.stat().st_mtime - age_s
    os.utime(entry, (then, then))


def test_a_cache_without_entries_names_nothing(live: Path) -> None:
    """And nothing is made there by looking."""
    assert registered(live) == ()
    assert not live.exists()


def test_what_a_lock_names_is_told_to_all(live: Path, tmp_path: Path) -> None:
    """Digests and repositories, whoever asks; the rest of the lock is nobody's business."""
    register(live, tmp_path, LOCK)

    found = one(live)

    assert found.workspace == tmp_path
    assert DIGEST in found.named.digests
    assert bare_of(tmp_path, URL).name in found.named.repositories
    assert found.named == names_of(LOCK.encode())
    assert "our-project" not in found.entry.read_text()
    assert not found.is_gone


def test_a_later_lock_of_a_workspace_takes_the_place_of_the_first(live: Path, tmp_path: Path) -> None:
    """One workspace, one entry."""
    register(live, tmp_path, LOCK)
    register(live, tmp_path, "")

    assert one(live).named.digests == frozenset()


def test_a_workspace_that_is_gone_counts_no_more(live: Path, tmp_path: Path) -> None:
    """Its entry is removed; that of another one stays."""
    register(live, tmp_path / "removed", LOCK)
    register(live, tmp_path, LOCK)

    forget(registered(live))

    assert one(live).workspace == tmp_path


def test_a_workspace_on_disks_that_cannot_be_seen_counts_for_a_month(live: Path, tmp_path: Path) -> None:
    """A node of a cluster builds on a disk of its own: that it is not here does not mean that it is gone."""
    register(live, tmp_path / "scratch", LOCK)
    elsewhere(live)
    fresh = one(live)
    elsewhere(live, age_s=MONTH_S)
    old = one(live)

    assert (fresh.is_gone, fresh.is_seen, fresh.is_recent) == (False, False, True)
    assert (old.is_gone, old.is_recent) == (True, False)


def test_a_damaged_entry_still_counts(live: Path, tmp_path: Path) -> None:
    """What it seems to name stays; nobody can say that its workspace is gone."""
    register(live, tmp_path / "removed", LOCK)
    entry = one(live).entry
    entry.write_text(entry.read_text()[20:])

    found = one(live)

    assert (found.workspace, found.is_gone) == (None, False)
    assert DIGEST in found.named.digests


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_workspace_that_one_may_not_look_at_is_there() -> None:
    """The home of another user is closed; what is built in it still needs its files."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "home" / "run").mkdir(parents=True)
        (base / "home").chmod(0o700)
        register(base / "live", base / "home" / "run", LOCK)
        base.chmod(0o755)
        os.seteuid(65534)
        try:
            assert not one(base / "live").is_gone
        finally:
            os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_cache_that_may_only_be_read_is_no_error() -> None:
    """A store that somebody else fills still serves."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        os.seteuid(65534)
        try:
            register(Path(name) / "live", Path(name), LOCK)
        finally:
            os.seteuid(0)
        assert registered(Path(name) / "live") == ()
