"""What serves a pool while a command works."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.shim.pool_engines import TOKEN, engine, open_pool, token_beside


def test_distcc_needs_nothing() -> None:
    """It is a program and a variable."""
    pool, leave = open_pool({"program": "distcc", "hosts": [{"name": "a", "spec": "a", "slots": 2}]})
    leave()

    assert pool.slots == 2
    assert pool.told()["by"] == {}


@pytest.mark.parametrize(
    "told",
    [
        {"icecream": {"scheduler": "s:1", "folder": "{folder}", "compilers": []}},
        {"sccache_dist": {"url": "http://s:1", "program": "/no", "folder": "{folder}", "compilers": []}},
    ],
    ids=["icecream", "sccache-dist"],
)
def test_an_engine_that_is_not_there_leaves_an_empty_pool(
    told: dict[str, dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The build goes on without machines, and says why."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("torchbuild.shim.icecream._MORE_PATH", "")
    (row,) = told.values()
    row["folder"] = str(tmp_path / "pool")

    pool, leave = open_pool({**told, "hosts": [{"name": "a", "spec": "a", "slots": 2}]})
    leave()

    assert pool.slots == 0
    assert "all is compiled here" in capfd.readouterr().err
    assert engine(told).start() != ""


def test_the_token_lies_beside_the_shim(tmp_path: Path) -> None:
    """Only while a build runs whose recipe names one."""
    shim = tmp_path / "shim"
    assert token_beside(str(shim)) == ""

    (tmp_path / TOKEN).write_text("t0ken", encoding="utf-8")

    assert token_beside(str(shim)) == "t0ken"
