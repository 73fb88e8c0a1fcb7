"""The user's own facts as they lie on this machine: the TOML files of one folder, unread until asked for."""

from __future__ import annotations

from pathlib import Path

from torchbuild.errors import HostError, UsageError

__all__ = ["user_facts_texts"]

_ENDING = ".toml"
_MOST_BYTES = 4_000_000
"""More is read by nobody: whoever parses it refuses far less."""


def user_facts_texts(folder: Path, *, must_exist: bool) -> dict[str, str]:
    """The text of each file by its name without ``.toml``. Bytes that are no UTF-8 come as half characters.

    Args:
        folder: where they lie.
        must_exist: whether somebody named the folder.

    Raises:
        UsageError: ``facts-folder-missing`` where somebody named a folder that is none.
        HostError: ``facts-unreadable``.
    """
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError) as error:
        if not must_exist:
            return {}
        raise UsageError(
            "facts-folder-missing",
            f"TORCHBUILD_KNOWLEDGE names {folder}, which is no folder",
            why=f"seen: {error.strerror}",
            fix="Name the folder that holds your own facts, or unset TORCHBUILD_KNOWLEDGE.",
        ) from error
    except OSError as error:
        raise _unreadable(folder, str(error.strerror)) from error
    mine = [path for path in paths if path.suffix == _ENDING and not path.name.startswith(".")]
    return {path.stem: _text(path) for path in mine}


def _text(path: Path) -> str:
    """A file's text. What is no file is not opened: a pipe would wait for ever."""
    if not path.is_file():
        raise _unreadable(path, "it is no file")
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error


def _unreadable(path: Path, why: str) -> HostError:
    return HostError(
        "facts-unreadable",
        f"your own facts in {path} cannot be read",
        why=f"seen: {why}",
        fix="Make it a file or folder that you may read, or move it away.",
    )
