"""The real cache of a configured PyTorch and what its lock expects; CMake and ninja as they are."""

from __future__ import annotations

import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def real_cache_text() -> str:
    """Entries of the CMakeCache.txt of a real PyTorch 2.6, as torchbuild configured it."""
    return (ROOT / "tests" / "data" / "caches" / "torch-2.6-cpu.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def real_expectations() -> list[dict[str, Any]]:
    """What the lock of that build expects."""
    text = (ROOT / "tests" / "data" / "torch-2.6-cpu.lock").read_text(encoding="utf-8")
    expect: list[dict[str, Any]] = tomllib.loads(text)["expect"]
    return expect


@pytest.fixture(scope="session")
def cmake() -> str:
    """The CMake that torchbuild itself requires."""
    return str(Path(sysconfig.get_path("scripts")) / "cmake")
