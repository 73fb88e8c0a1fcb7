"""A child that ends with who started it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from torchbuild.shim import tied

PARENT = """\
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from tied import tied_to_us
child = subprocess.Popen(["sleep", "60"], preexec_fn=tied_to_us())
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_child_ends_with_its_parent_also_where_that_is_killed() -> None:
    """Nothing of a build goes on that nobody serves any more."""
    argv = [sys.executable, "-c", PARENT, str(Path(tied.__file__).parent)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        watched = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)

        assert select.select([watched], [], [], 30)[0]
    os.close(watched)
