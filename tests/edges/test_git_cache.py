"""The repositories that all builds share: quiet, open to this machine's own git, and the same for every token."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from torchbuild.edges import git_cache
from torchbuild.errors import HostError


def setting(bare: Path, name: str) -> list[str]:
    """What the repository's own configuration says."""
    done = subprocess.run(
        ["git", "config", "--local", "--get-all", name], cwd=bare, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


def test_a_token_does_not_choose_the_place(tmp_path: Path) -> None:
    """A new token finds what the old one fetched."""
    plain = git_cache.bare_of(tmp_path, "https://example.invalid/x.git")
    assert git_cache.bare_of(tmp_path, "https://me:s3cret@example.invalid/x.git") == plain
    assert git_cache.bare_of(tmp_path, "https://example.invalid/y.git") != plain


def test_a_repository_of_the_cache_never_tidies_up(tmp_path: Path) -> None:
    """Nothing is collected behind a build's back, and what is asked for by its id is given."""
    git_cache.make(tmp_path / "a.git")
    git_cache.make(tmp_path / "a.git")
    assert setting(tmp_path / "a.git", "gc.auto") == ["0"]
    assert setting(tmp_path / "a.git", "uploadpack.allowAnySHA1InWant") == ["true"]


def test_a_repository_that_an_older_version_made_is_brought_up_to_date(tmp_path: Path) -> None:
    """Its objects stay; what it lacks in settings is added."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "a.git")], check=True)
    git_cache.make(tmp_path / "a.git")
    assert setting(tmp_path / "a.git", "transfer.unpackLimit") == ["1"]


def test_a_cache_that_cannot_be_written_is_the_machines(tmp_path: Path) -> None:
    """With who must act."""
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError):
        git_cache.make(tmp_path / "file" / "a.git")


def test_nothing_is_cached_where_nothing_is(tmp_path: Path) -> None:
    """No repository, no commit."""
    assert not git_cache.cached(tmp_path / "a.git", "0" * 40)
    assert not git_cache.is_whole(tmp_path / "a.git", "0" * 40)
