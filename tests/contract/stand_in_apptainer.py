"""Stands in for Apptainer: takes the options that we give it, and does what its manual says they mean.

It is no Apptainer. It shows that our words, taken by their documented meaning, keep the executors' contract.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

from torchbuild.edges.memory_group import memory_group
from torchbuild.edges.sandbox import launcher


def main(argv: list[str]) -> int:
    """Run the command in the image; its exit code."""
    if argv == ["--version"]:
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["exec"])
    for flag in ("containall", "cleanenv", "no-home", "fakeroot", "net", "uts", "silent"):
        parser.add_argument(f"--{flag}", action="store_true")
    for option in ("network", "hostname", "workdir", "pwd", "memory", "memory-swap", "cpus"):
        parser.add_argument(f"--{option}", default="")
    parser.add_argument("--bind", action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args([word for word in argv if word != "--silent"])
    temporary = Path(given.workdir, "tmp")
    temporary.mkdir(mode=0o777, exist_ok=True)
    binds = [bind.split(":") for bind in given.bind]
    words = [
        *(f"--{'ro-' if mode == 'ro' else ''}bind={source}={target}" for source, target, mode in binds),
        *(f"--image={given.image}", "--as-root", f"--scratch={temporary}", f"--chdir={given.pwd}"),
        *(["--no-network"] if given.network == "none" else []),
    ]
    with contextlib.ExitStack() as stack:
        if given.memory:
            words.append(f"--group={stack.enter_context(memory_group(int(given.memory) / (1 << 30)))}")
        return subprocess.run([*launcher(), *words, "--", *given.command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
