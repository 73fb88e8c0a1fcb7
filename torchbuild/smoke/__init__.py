"""Run-time checks of an installed library: standard library and the subject, nothing else.

This package is copied beside the wheel it checks (`torchbuild.smoke.bundle`) and runs on the wheel's own
interpreter, as old as Python 3.8, on any machine that can run the wheel. A check is a module that `checks`
lists, with ``NAME``, ``NEEDS`` and ``run(subject)``; each runs in a process of its own under a time limit,
so that a crash, an abort or a hang is a finding like any other. Standard output holds one JSON document and
nothing else, whatever the subject prints.
"""

from __future__ import annotations

__all__: list[str] = []
