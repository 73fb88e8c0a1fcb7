"""The real cache of a configured PyTorch and what its lock expects; CMake and ninja as they are."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Guarded:
    """One command that ran behind the guard."""

    code: int
    out: bytes
    err: bytes
    records: tuple[dict[str, Any], ...]

    @property
    def asked(self) -> list[str]:
        """What it asked the network for."""
        return [record["what"] for record in self.records if record["event"] == "asked"]


@dataclass(frozen=True)
class Guard:
    """The guard as an executor lays it into a build: a copy of the shim, and a file to start it by."""

    top: Path
    python: str = sys.executable

    def argv(self, *command: str, options: Sequence[str] = ()) -> list[str]:
        """The guarded command."""
        return [
            *(self.python, "-I", "-S", "-B", str(self.top)),
            *(f"--record={self.top}/record.jsonl", *options, "--", *command),
        ]

    def run(self, *command: str, options: Sequence[str] = (), **how: Any) -> Guarded:
        """Run to the end."""
        (self.top / "record.jsonl").unlink(missing_ok=True)
        done = subprocess.run(
            self.argv(*command, options=options), capture_output=True, check=False, timeout=60, **how
        )
        text = (self.top / "record.jsonl").read_text(encoding="utf-8")
        records = tuple(json.loads(line) for line in text.splitlines())
        return Guarded(done.returncode, done.stdout, done.stderr, records)

    def python_run(self, script: str, *arguments: str, options: Sequence[str] = (), **how: Any) -> Guarded:
        """Run a Python script behind the guard."""
        return self.run(sys.executable, "-I", "-S", "-c", script, *arguments, options=options, **how)


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """The guard, on a kernel that tells it of calls."""
    top = tmp_path / "guard"
    top.mkdir()
    (top / "torchbuild_shim").symlink_to(ROOT / "torchbuild" / "shim")
    (top / "__main__.py").write_text(
        "import sys\n\nfrom torchbuild_shim.offline import main\n\nsys.exit(main())\n", encoding="utf-8"
    )
    made = Guard(top)
    (first,) = made.run("/bin/true").records
    if first["watch"] != "notify":
        pytest.skip(f"this kernel tells nobody of calls: {first['why']}")
    return made
