"""A whole build through sccache's scheduler and machine, which are stand-ins that compile: see tests/dist_stand_in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.dist_stand_in import stand_in_pool, why_none
from tests.e2e.test_distribute import tree

__all__ = ["tree"]

WHY = why_none() or ("" if shutil.which("sccache") else "no sccache where a system has its programs")
pytestmark = [pytest.mark.skipif(bool(WHY), reason=WHY), pytest.mark.timeout(600)]
TOKEN = "t0ken-of-the-test"


def test_a_build_asks_the_scheduler_with_its_token_through_the_relay(
    fresh: Any, arguments: Any, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes back is what is compiled here; nothing that stays of the build knows the token."""
    monkeypatch.setenv("WORD", TOKEN)
    lock = arguments("recipe.toml", f"source.git={tree}", name=f"dist-{tmp_path.name.replace('_', '-')}"[:60])
    (tmp_path / "there").mkdir()
    with stand_in_pool(tmp_path / "there", TOKEN) as there:
        named = f'scheduler="127.0.0.1:{there.port}", hosts=["{there.endpoint}/3"], token="${{WORD}}"'
        pool = f'machine.distribute={{engine="sccache-dist", {named}}}'

        ended = fresh.good("build", *lock, "--set", pool, "--until", "package", "--json")

    report, by_reference = ended.compiled
    assert by_reference["pool-compiler"]["outcome"] == "passed"
    assert f" by {there.endpoint}" in by_reference["pool-used"]["seen"]
    assert len(there.compiled) > 2, "more than the two that it was asked for before"
    assert set(report["allowed"]) >= {f"127.0.0.1:{there.port}", there.endpoint}
    kept = [path for path in fresh.builds.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in kept if TOKEN.encode() in path.read_bytes()]
