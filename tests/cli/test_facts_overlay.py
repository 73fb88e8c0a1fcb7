"""The user's own facts, as commands meet them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.facts_overlay import facts_differ, facts_folder, user_facts
from torchbuild.knowledge.fact import Overlay, overlay

ROW = """
[[product]]
name = "GeForce GTX 9999"
names = []
chips = ["GX999"]
capabilities = [120]
line = "geforce"
driver = "700.10"
note = ""
source = "the box"
checked = "unconfirmed"
"""
LINE = "gpus.product GeForce GTX 9999: added by the user's overlay"


@pytest.fixture
def own_facts(machine: Path) -> Path:
    """The default folder, empty."""
    folder = machine / "home" / ".config" / "torchbuild" / "knowledge"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "TORCHBUILD_KNOWLEDGE"):
        monkeypatch.delenv(name, raising=False)


def test_the_folder_is_the_users_configuration_or_the_named_one(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TORCHBUILD_KNOWLEDGE is for a cluster, where one folder serves all."""
    assert facts_folder() == machine / "home" / ".config" / "torchbuild" / "knowledge"
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", "facts")
    assert facts_folder() == machine / "here" / "facts"
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", "")
    assert facts_folder() == machine / "home" / ".config" / "torchbuild" / "knowledge"


def test_they_are_laid_for_as_long_as_a_command_runs(own_facts: Path) -> None:
    """And gone after it."""
    (own_facts / "gpus.toml").write_text(ROW)

    with user_facts():
        assert overlay().lines()[0].startswith(LINE)

    assert overlay() == Overlay()


def test_facts_that_are_wrong_stop_what_decides_by_facts(own_facts: Path, desk: Any) -> None:
    """With every problem, file and line; help, explanations and the store work all the same."""
    (own_facts / "gpus.toml").write_text("[[product]]\nnaem = 1\n")
    desk.lock()

    ended = desk.run("lock", "tiny.toml", "--check")

    assert ended.code == 3
    assert "error[facts-invalid]" in ended.err
    assert "gpus.toml:2" in ended.err
    for argv in (["lock", "--help"], ["explain", "facts-invalid"], ["store"], ["schema"]):
        assert desk.run(*argv).code == 0


def test_what_leaves_no_lock_tells_them(own_facts: Path, desk: Any) -> None:
    """An answer that rests on a row of one's own says so."""
    (own_facts / "gpus.toml").write_text(ROW)

    ended = desk.run("init", "--torch", "2.10", "--gpu", "gtx 9999", "--driver", "710.1", "--out", "new.toml")

    assert ended.code == 0
    assert f"facts of yours: {LINE}" in ended.err


def test_facts_that_contradict_others_stop_too(own_facts: Path, desk: Any) -> None:
    """A chip without a family would be advised about by nobody."""
    (own_facts / "gpus.toml").write_text(ROW.replace("[120]", "[130]"))
    desk.lock()

    ended = desk.run("lock", "tiny.toml", "--check")

    assert (ended.code, "error[facts-contradict]" in ended.err) == (3, True)
    assert "gpus.product GeForce GTX 9999: 130 is no family" in ended.err


def test_a_named_folder_that_is_missing_stops_too(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would decide otherwise, without a word."""
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", "/not/mounted")
    desk.lock()

    ended = desk.run("lock", "tiny.toml", "--check")

    assert (ended.code, "error[facts-folder-missing]" in ended.err) == (2, True)


def test_a_lock_of_other_facts_is_used_and_told(own_facts: Path, desk: Any) -> None:
    """A lock is the exact inputs: it is not stale, and what would be decided otherwise here is said."""
    desk.lock(facts=("cuda.floor >=12,<13: replaced by the user's overlay, sha256 00",))
    (own_facts / "gpus.toml").write_text(ROW)

    ended = desk.run("lock", "tiny.toml", "--check", "--json")

    assert ended.code == 0
    assert "facts of yours: cuda.floor >=12,<13" in ended.err
    assert "facts-differ: locked with cuda.floor >=12,<13" in ended.err
    assert f"facts-differ: locked without {LINE}" in ended.err
    assert ended.json["facts"] == ["cuda.floor >=12,<13: replaced by the user's overlay, sha256 00"]


def test_a_lock_of_the_same_facts_is_not_talked_about(own_facts: Path, desk: Any) -> None:
    """Nothing differs, nothing is told."""
    (own_facts / "gpus.toml").write_text(ROW)
    with user_facts():
        lock = desk.lock(facts=overlay().changes)
        assert facts_differ(lock) == ()

    assert "facts-differ" not in desk.run("lock", "tiny.toml", "--check").err


def test_without_a_folder_no_reader_is_loaded(machine: Path) -> None:
    """What nobody has costs a look for it, and no second of any command."""
    program = (
        "import sys\n"
        "from torchbuild.cli.facts_overlay import user_facts\n"
        "with user_facts():\n"
        "    print(sorted({'pydantic', 'torchbuild.knowledge.overlay'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )

    assert done.stdout == "[]\n"
