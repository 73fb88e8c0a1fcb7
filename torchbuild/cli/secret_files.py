"""What a build must know and nobody else may: a file in the workspace, there while the build runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torchbuild.edges.atomic import translated

__all__ = ["secret_file"]


@contextmanager
def secret_file(place: Path, text: str) -> Iterator[None]:
    """Lay it where only we may read it, and take it away at the end.

    Args:
        place: the file.
        text: what it holds; empty for no file.

    Raises:
        HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
    """
    with translated(place):
        place.unlink(missing_ok=True)  # of a run that was killed
        if text:
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)
