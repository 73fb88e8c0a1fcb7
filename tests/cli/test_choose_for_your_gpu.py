"""The guide to choosing for a GPU shows what the commands print."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Desk

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "choose-for-your-gpu.md"
PUBLISHERS = """\
[torch-wheels]
base = "http://127.0.0.1:9/whl/"
source = "nobody answers there"
checked = "2026-11-30"
"""
ELSEWHERE = ("--like INSTALLED", ".whl")
"""Commands that need what is not here."""
OF_THIS_MACHINE = "○ environment: driver-here"


def blocks() -> Iterator[list[str]]:
    """The indented blocks, line by line."""
    block: list[str] = []
    for line in [*GUIDE.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("    "):
            block.append(line.strip())
        elif block:
            yield block
            block = []


def plain(text: str) -> str:
    """Without marks of comments, and with one space where lines and columns were broken."""
    return " ".join(text.replace("#", " ").split())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the guide's own machine")
def test_every_command_of_the_guide_prints_what_stands_below_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word, line by line; what is left out of a line is an ellipsis."""
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "publishers.toml").write_text(PUBLISHERS)
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", str(facts))
    seen, commands, shown = "", 0, 0
    for block in blocks():
        if all(line.startswith("torchbuild ") for line in block):
            for line in block:
                command = line.partition("  #")[0]
                if not any(word in command for word in ELSEWHERE):
                    ran = desk.run(*shlex.split(command)[1:])
                    assert ran.code in (0, 4), (command, ran.err)
                    files = "".join(path.read_text() for path in desk.folder.glob("torch-*.toml"))
                    seen += f"\n{plain(ran.out)} {plain(ran.err)} {plain(files)}"
                    commands += 1
            continue
        for line in block:
            for part in plain(line).split("…"):
                assert line.startswith(OF_THIS_MACHINE) or part.strip().rstrip(",)") in seen, line
                shown += 1
    assert commands >= 5
    assert shown >= 30
