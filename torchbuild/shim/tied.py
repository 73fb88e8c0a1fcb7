"""What makes a child end as soon as the thread that started it does, killed or not: nobody would serve it."""

import signal
from typing import Any, Callable, Optional

__all__ = ["tied_to_us"]

_PR_SET_PDEATHSIG = 1


def tied_to_us() -> Optional[Callable[[], Any]]:
    """What a child does before it becomes its program; None where this machine cannot."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
