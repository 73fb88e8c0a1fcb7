"""A folder with our ninja in it, as the toolchain stage lays it, and a build tree that is written by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from torchbuild.model.command import BUILD_ROOT
from torchbuild.shim.equipment import lay_launcher, lay_makes
from torchbuild.stages.toolchain import SHIM

__all__ = ["Yard"]

_PACKAGE = Path(__file__).parents[1] / "torchbuild" / "shim"


class Yard:
    """Ninja with a supervisor, and ninja without one, over the same build tree."""

    def __init__(self, root: Path) -> None:
        """Lay everything.

        Args:
            root: a folder that does not exist, or is empty.
        """
        self.root, self.shim, self.bin = root, root / "shim", root / "venv" / "bin"
        self.build = root / "source" / "build"
        self.launch = self.shim / "launch"
        for folder in (self.bin, self.build):
            folder.mkdir(parents=True)
        guest = self.shim / "torchbuild_shim"
        shutil.copytree(_PACKAGE, guest, ignore=shutil.ignore_patterns("__pycache__"))
        self.real = Path(sysconfig.get_path("scripts")) / "ninja"
        (self.shim / "ninja-real").symlink_to(self.real)
        (self.bin / "python").symlink_to(sys.executable)
        self.ninja = self.bin / "ninja"
        self.ninja.write_text(SHIM.replace(BUILD_ROOT, str(root)), encoding="utf-8")
        self.ninja.chmod(0o755)
        why = lay_launcher("cc", str(guest / "launch.c"), str(self.launch))
        if why:
            raise RuntimeError(why)
        lay_makes(str(self.bin), str(self.shim))
        order: dict[str, object] = {"mode": "build", "build_dir": str(self.build), "expect": []}
        (self.shim / "order.json").write_text(json.dumps(order), encoding="utf-8")
        (self.build / "CMakeCache.txt").write_text("", encoding="utf-8")

    def write(self, text: str) -> None:
        """The build file."""
        (self.build / "build.ninja").write_text(text, encoding="utf-8")

    def expect(self, **told: object) -> None:
        """What the stage tells of peaks: ``learned``, ``priors``, ``other``."""
        (self.shim / "expected-peaks.json").write_text(json.dumps(told), encoding="utf-8")

    def environ(self, **more: str) -> dict[str, str]:
        """Of a build."""
        path = f"{self.bin}:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": path, "LC_ALL": "C.UTF-8", "HOME": str(self.root), **more}

    def start(self, *argv: str | Path, **environ: str) -> subprocess.Popen[str]:
        """Start a command in the build tree; everything that it starts is of one session."""
        return subprocess.Popen(
            [str(word) for word in argv],
            cwd=self.build,
            env=self.environ(**environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *argv: str | Path, **environ: str) -> tuple[int, str]:
        """Run a command to its end: exit code, and what it printed."""
        with self.start(*argv, **environ) as process:
            try:
                said, _ = process.communicate(timeout=1200)
            except BaseException:  # who asked gives up: leaving would wait for a build that hangs
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, said

    def left(self) -> dict[str, Any]:
        """What the supervisor tells of the last build."""
        told: dict[str, Any] = json.loads((self.shim / "compile.json").read_text(encoding="utf-8"))
        return told

    def seen(self) -> dict[str, int]:
        """Peaks that it learned, by output."""
        path = self.shim / "peaks.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {row["edge"]: row["bytes"] for row in map(json.loads, lines)}

    def clean(self) -> None:
        """Nothing is built yet."""
        for path in self.build.iterdir():
            if path.name not in ("build.ninja", "CMakeCache.txt"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in ("peaks.jsonl", "compile.json", "pool-used.json"):
            (self.shim / name).unlink(missing_ok=True)
