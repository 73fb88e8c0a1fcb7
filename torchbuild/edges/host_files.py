"""The files by which a system tells of itself, below a root that a test can make."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["HostFiles"]

_MOST = 1 << 20


class HostFiles:
    """Reads small files. What is not there is empty; what cannot be read raises `OSError`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Nothing is read yet."""
        self._root = root

    def place(self, path: str) -> Path:
        """Where a path of the system lies."""
        return self._root / path.lstrip("/")

    def text(self, path: str, most: int = _MOST) -> str:
        """The text, without the zero bytes of a device tree; empty where there is no such file.

        Raises:
            OSError: it is there and cannot be read.
        """
        try:
            with self.place(path).open("rb") as file:
                return file.read(most).replace(b"\0", b"").decode(errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def there(self, path: str) -> bool:
        """Whether something is there; not where that may not be seen."""
        return os.path.lexists(self.place(path))

    def names(self, path: str) -> tuple[str, ...]:
        """What a directory holds, sorted; nothing where there is none or it may not be read."""
        try:
            return tuple(sorted(entry.name for entry in self.place(path).iterdir()))
        except OSError:
            return ()
