"""Make ``.venv`` with torchbuild and its development tools in it. Run by ``make``, by the Python it is for.

Standard library only. What pip is configured to use on this machine (index, mirror, certificates) is used.
"""

# ruff: noqa: INP001, T201, TID251  a script that makes what our own rooms need to exist

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["main"]

VENV = Path(".venv")
STAMP = VENV / "torchbuild.stamp"
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "-e", ".[dev]")


def main() -> int:
    """Exit code 0 where the environment is ready."""
    if not _is_of_this_python():
        print(f"making {VENV} with {sys.executable}", file=sys.stderr)
        venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(VENV)
    print("installing torchbuild and its development tools", file=sys.stderr)
    done = subprocess.run([str(VENV / "bin" / "python"), *INSTALL], check=False)
    if done.returncode != 0:
        print(_advice(done.returncode), file=sys.stderr, end="")
        return 1
    STAMP.write_text(sys.version, encoding="utf-8")
    return 0


def _is_of_this_python() -> bool:
    """An environment of another Python, or of one that was upgraded or removed, is made anew."""
    probe = [str(VENV / "bin" / "python"), "-c", "import sys; print(sys.version, end='')"]
    try:
        seen = subprocess.run(probe, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return bool(seen.stdout == sys.version)


def _advice(code: int) -> str:
    return (
        f"error: pip could not install torchbuild and its development tools (exit code {code})\n"
        "  why   pip's own words are above\n"
        "  fix   check the network and pip's configuration (`pip config list`), then run make again\n"
    )


if __name__ == "__main__":
    sys.exit(main())
