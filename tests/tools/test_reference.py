"""The reference pages are what the model says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_pages_are_up_to_date() -> None:
    """Whoever changes the model runs tools/reference.py."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "key", ["`preset`", "`[[source.overlay]]`", "`[cudnn]`, `[nccl]`", "`compiler_cache`"]
)
def test_the_page_has_each_key_under_its_table(key: str) -> None:
    """Nested tables and those that share a form are there too."""
    assert key in (ROOT / "docs" / "reference" / "recipe.md").read_text(encoding="utf-8")
