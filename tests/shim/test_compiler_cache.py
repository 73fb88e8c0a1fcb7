"""What a cache is told when ninja starts, and where its secrets are."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from torchbuild.shim.compiler_cache import REMOTE, CompilerCache

URL = "redis://s3cret@cache:6379|connect-timeout=1000"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where a shim lies."""
    place = tmp_path / "root" / "shim"
    place.mkdir(parents=True)
    return place


def test_without_a_cache_nothing_is_told(here: Path, tmp_path: Path) -> None:
    """And nothing is started, nor ended."""
    cache = CompilerCache({"cache": "", "statslog": None}, str(here), str(tmp_path))

    assert cache.start(None) == {}
    assert cache.stop(set()) == {}


def test_ccache_is_told_where_to_leave_its_words(here: Path, tmp_path: Path) -> None:
    """An order of an older stage names no program, and means ccache."""
    for order in ({"statslog": "/x/log"}, {"statslog": "/x/log", "cache": "/usr/bin/ccache"}):
        assert CompilerCache(order, str(here), str(tmp_path)).start(None) == {"CCACHE_STATSLOG": "/x/log"}


def test_a_backend_stands_in_a_file_of_ours_beside_the_user_s_own_settings(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable could be printed by anything that a build starts; the limit of the cache stays as it was set."""
    (tmp_path / "ccache").mkdir()
    (tmp_path / "ccache" / "ccache.conf").write_text("max_size = 40G", encoding="utf-8")
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    (here.parent / REMOTE).write_text(json.dumps({"CCACHE_REMOTE_STORAGE": URL}), encoding="utf-8")

    told = CompilerCache({"statslog": "/x/log"}, str(here), str(tmp_path)).start(None)

    place = Path(told["CCACHE_CONFIGPATH"])
    assert "s3cret" not in "".join(told.values())
    assert place.read_text(encoding="utf-8") == f"max_size = 40G\nremote_storage = {URL}\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "[", "[]", "{}"], ids=repr)
def test_a_damaged_backend_is_none(content: str, here: Path, tmp_path: Path) -> None:
    """The cache of this machine is used alone."""
    (here.parent / REMOTE).write_text(content, encoding="utf-8")

    assert CompilerCache({"statslog": "/l"}, str(here), str(tmp_path)).start(None) == {
        "CCACHE_STATSLOG": "/l"
    }
