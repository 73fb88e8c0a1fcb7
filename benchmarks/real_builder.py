"""What overhead.py and memory_real.py share: real_objects.py, in the builder of a run that was configured."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from torchbuild.resolve.learned_peaks import expected

__all__ = ["in_the_builder", "parser"]

_INSIDE = Path(__file__).with_name("real_objects.py")


def parser(about: str | None, jobs: int) -> argparse.ArgumentParser:
    """Options of both."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--run", type=Path, required=True, help="a workspace; it is used up")
    made.add_argument("--image", required=True, help="the builder image, as podman names it")
    made.add_argument("--jobs", type=int, default=jobs)
    return made


def in_the_builder(
    options: argparse.Namespace, *words: object, limits: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """What real_objects.py tells; nothing is learned before, shipped facts are known.

    Args:
        options: those of `parser`.
        words: what it is asked.
        limits: further options of the engine.
    """
    (options.run / "root/shim/expected-peaks.json").write_text(expected("", None), encoding="utf-8")
    argv = ["podman", "--log-level=error", "run", "--rm", "--network=none", "--pull=never", *limits]
    argv += [f"--volume={options.run}/root:/torchbuild", f"--volume={_INSIDE}:/inside.py:ro"]
    argv += [options.image, "/torchbuild/venv/bin/python", "/inside.py", *map(str, words)]
    rows = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            sys.stderr.write(line)
            rows.append(json.loads(line))
    if process.returncode:
        raise SystemExit(process.returncode)
    return rows
