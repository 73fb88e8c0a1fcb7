"""The library that is looked at: imported by name, asked for its parts by dotted name."""

from __future__ import annotations

import importlib
from typing import Any, Sequence

__all__ = ["find", "missing"]


def find(subject: Any, dotted: str) -> Any:
    """A part such as ``linalg.svd``: attribute by attribute, importing modules that are not yet there.

    Raises:
        AttributeError: there is no such part.
    """
    found = subject
    for name in dotted.split("."):
        if not hasattr(found, name) and hasattr(found, "__path__"):
            try:
                importlib.import_module("{}.{}".format(found.__name__, name))
            except ImportError as error:
                raise AttributeError(dotted) from error
        found = getattr(found, name)
    return found


def missing(subject: Any, needs: Sequence[str]) -> list[str]:
    """Those of `needs` that the subject does not have."""
    return [dotted for dotted in needs if not _has(subject, dotted)]


def _has(subject: Any, dotted: str) -> bool:
    try:
        find(subject, dotted)
    except AttributeError:
        return False
    return True
