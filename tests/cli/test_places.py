"""Where torchbuild keeps things."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.places import places


def test_the_users_own_directories_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be had again is in the cache, what cannot is in the state directory."""
    monkeypatch.delenv("TORCHBUILD_CACHE", raising=False)
    monkeypatch.delenv("TORCHBUILD_BUILDS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    here = places()

    assert here.store == tmp_path / "cache" / "torchbuild" / "store"
    assert here.builds == tmp_path / "state" / "torchbuild" / "builds"
    assert here.cache in here.compiler_cache.parents


def test_two_variables_move_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a large disk elsewhere uses it; a relative path is relative to where one is now."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCHBUILD_CACHE", "cache")
    monkeypatch.setenv("TORCHBUILD_BUILDS", str(tmp_path / "builds"))

    here = places()

    assert (here.cache, here.builds) == (tmp_path / "cache", tmp_path / "builds")


def test_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask where things are leaves no trace."""
    monkeypatch.setenv("TORCHBUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHBUILD_BUILDS", str(tmp_path / "builds"))

    places()

    assert list(tmp_path.iterdir()) == []


def test_what_can_be_made_again_at_a_price_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`store` shows what the cache holds besides files and images, and `clean --cache` removes it."""
    monkeypatch.setenv("TORCHBUILD_CACHE", str(tmp_path))

    assert places().caches == tuple(
        tmp_path / name for name in ("compiler", "git", "images", "debian", "partial")
    )


def test_what_was_trusted_is_kept_when_caches_are_emptied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Records of first uses are ours, and are no cache: without them another file would be trusted anew."""
    monkeypatch.setenv("TORCHBUILD_CACHE", str(tmp_path))
    here = places()

    assert here.first_seen == tmp_path / "first-seen"
    assert "first-seen" in here.names
    assert here.first_seen not in here.caches
