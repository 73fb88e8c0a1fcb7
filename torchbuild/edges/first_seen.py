"""What files without a published digest were when they were first seen here, one small record each."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from pydantic import ValidationError

from torchbuild.edges.atomic import translated, write_text
from torchbuild.model.artifact import Artifact

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FirstSeen"]


class FirstSeen:
    """Records below a cache directory; a lost one means that its file is new again."""

    def __init__(self, cache_dir: Path) -> None:
        """Nothing is read yet."""
        self._folder = cache_dir / "first-seen"

    def get(self, locator: str) -> Artifact | None:
        """What the file was; None where it was not seen, or the record is not legible."""
        try:
            noted = Artifact.model_validate(json.loads(self.place(locator).read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError):
            return None
        return noted if noted.locator == locator else None

    def note(self, artifact: Artifact) -> None:
        """Write down what it is.

        Raises:
            HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
        """
        with translated(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        write_text(self.place(artifact.locator), artifact.model_dump_json() + "\n")

    def place(self, locator: str) -> Path:
        """The record's file."""
        return self._folder / f"{hashlib.sha256(locator.encode()).hexdigest()}.json"
