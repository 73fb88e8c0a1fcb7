"""What of this machine a build used, kept beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.machine_settings import keep_allowed, keep_despite, keep_settings, kept_settings
from torchbuild.model.recipe import Machine


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    """Engine, executor and limits come back as they were."""
    used = Machine(executor="container", engine="docker", jobs=5, memory_gib=1.5)
    keep_settings(tmp_path, used)
    assert kept_settings(tmp_path) == used


def test_nothing_secret_is_kept(tmp_path: Path) -> None:
    """Addresses may hold passwords: they stay in the recipe."""
    keep_settings(tmp_path, Machine(index_url="https://user:hunter2@index.example"))
    assert "hunter2" not in "".join(path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"engine": "unknown"}', "\0"], ids=repr)
def test_without_a_record_the_defaults_count(content: str | None, tmp_path: Path) -> None:
    """A run of an older version, or a damaged file, still has a shell."""
    if content is not None:
        (tmp_path / "machine.json").write_text(content)
    assert kept_settings(tmp_path) == Machine()


def test_what_one_run_was_allowed_stays_with_the_workspace(tmp_path: Path) -> None:
    """Objects that were compiled with an open network are in the wheel, also where a later run packs it."""
    assert keep_allowed(tmp_path, (), is_fresh=True) == ()
    assert keep_allowed(tmp_path, ("open-network",), is_fresh=False) == ("open-network",)
    both = ("cache.example:443", "open-network")
    assert keep_allowed(tmp_path, ("cache.example:443",), is_fresh=False) == both
    assert keep_allowed(tmp_path, (), is_fresh=False) == both


@pytest.mark.parametrize("content", [None, "", "{", "{}", "[1]", "\0"], ids=repr)
def test_a_lost_record_is_not_taken_for_none(content: str | None, tmp_path: Path) -> None:
    """Where nobody can tell any more what was allowed, the wheel's provenance says so, from then on."""
    if content is not None:
        (tmp_path / "allowed.json").write_text(content)
    assert keep_allowed(tmp_path, (), is_fresh=False) == ("unknown",)
    assert keep_allowed(tmp_path, (), is_fresh=False) == ("unknown",)


def test_what_a_run_went_on_in_spite_of_stays_with_the_workspace(tmp_path: Path) -> None:
    """What was compiled then is in the wheel, whoever goes on; where the record is lost, that is said."""
    assert keep_despite(tmp_path, ("disk-space",), is_fresh=True) == ("disk-space",)
    assert keep_despite(tmp_path, (), is_fresh=False) == ("disk-space",)

    (tmp_path / "despite.json").unlink()
    assert keep_despite(tmp_path, (), is_fresh=False) == ("unknown",)
