"""Small subjects in a real virtual environment, and the bundle that looks at them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from torchbuild.smoke.bundle import bundle

GOOD = """
    __version__ = "1.0"

    class __config__:
        @staticmethod
        def show():
            return "Toy built with:\\n  - Build settings: USE_TOY=1, \\n"

    def matmul(a, b):
        return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
"""


class Run(NamedTuple):
    """What came of one run of the bundle."""

    exit_code: int
    report: dict[str, Any]
    stderr: str

    def outcomes(self, reference: str) -> list[str]:
        """Outcomes of the findings of that reference."""
        return [found["outcome"] for found in self.report["findings"] if found["reference"] == reference]

    def failed(self) -> list[dict[str, str]]:
        """Findings that failed."""
        return [found for found in self.report["findings"] if found["outcome"] == "failed"]


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle."""
    return bundle(tmp_path_factory.mktemp("bundle") / "smoke.pyz")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without anything in it."""
    home = tmp_path_factory.mktemp("verify") / "venv"
    venv.create(home, symlinks=True)
    return home


@pytest.fixture
def install(environment: Path, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Lay a package into the environment as an installer would; its name is the test's own."""

    def lay(source: str = GOOD, *, version: str = "1.0", more: str = "") -> str:
        name = f"toy_{abs(hash(request.node.nodeid)):x}"
        site = next(environment.glob("lib/python3*/site-packages"))
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(textwrap.dedent(source) + textwrap.dedent(more))
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return name

    return lay


@pytest.fixture
def smoke(pyz: Path, environment: Path, tmp_path: Path) -> Callable[..., Run]:
    """Run the bundle as verify does: the environment's own interpreter, isolated, from an empty directory."""

    def run(
        package: str, *arguments: str, python: Path | str = "", isolated: bool = True, **environ: str
    ) -> Run:
        program = str(python or environment / "bin" / "python")
        flags = ["-I"] if isolated else []
        command = [program, *flags, str(pyz), "--package", package, *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={"PATH": os.defpath, **environ},
        )
        assert done.stdout, done.stderr
        return Run(done.returncode, json.loads(done.stdout), done.stderr)

    return run


@pytest.fixture(scope="session")
def torch_python() -> str:
    """An interpreter with a real torch, named by TORCHBUILD_TEST_TORCH_PYTHON."""
    python = os.environ.get("TORCHBUILD_TEST_TORCH_PYTHON", "")
    if not python:
        pytest.skip("TORCHBUILD_TEST_TORCH_PYTHON names no interpreter with torch installed")
    return python


@pytest.fixture(scope="session", params=["3.8", "3.9", "3.12", "3.13"])
def other_python(request: pytest.FixtureRequest) -> str:
    """Another interpreter of this machine that runs, by version."""
    roots = [Path(sys.base_prefix).parent, Path("/usr")]
    found = [program for root in roots for program in sorted(root.glob(f"**/bin/python{request.param}"))[:1]]
    if not found:
        pytest.skip(f"no Python {request.param} on this machine")
    return str(found[0])
