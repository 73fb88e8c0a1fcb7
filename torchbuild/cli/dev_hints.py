"""What an error advises, for a dev build: its lock is another file than the one of plain commands."""

from __future__ import annotations

import re

from torchbuild.errors import TorchbuildError

__all__ = ["advise_dev"]

_PLAIN = re.compile(r"torchbuild (lock|build|image)\b(?!( --adopt)? --dev\b)")


def advise_dev(error: TorchbuildError) -> None:
    """Have the error's fix name the commands of a dev build."""
    error.fix = _PLAIN.sub(r"torchbuild \1 --dev", error.fix)
