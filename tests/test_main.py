"""``python -m torchbuild``."""

import subprocess
import sys


def test_package_runs_as_a_module() -> None:
    """Where the script is not on PATH, the module is the tool."""
    done = subprocess.run(
        [sys.executable, "-m", "torchbuild", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("torchbuild ")
