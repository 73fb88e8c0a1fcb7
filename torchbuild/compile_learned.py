"""What a build that compiled leaves for the next one: what edges took, in time and in memory."""

from __future__ import annotations

from contextlib import suppress

from torchbuild.context import Context
from torchbuild.errors import HostError
from torchbuild.resolve.learned_peaks import KEPT, SEEN, merged

__all__ = ["keep_peaks", "keep_times", "kept_peaks"]


def keep_times(path: str, text: str | None, context: Context) -> None:
    """Keep what edges took, those of a build that failed as well."""
    if text is not None:
        with suppress(HostError):  # no build fails for want of an estimate of the next one
            context.trees.write(context.workspace.inside(path), text)


def keep_peaks(compilers: str, context: Context) -> None:
    """Keep what compilers took of memory, those of a build that failed as well."""
    seen = context.trees.read(context.workspace.inside(SEEN))
    text = merged(compilers, kept_peaks(context), seen)
    if text is not None:
        with suppress(HostError):  # a store that may only be read still serves
            context.trees.write(context.store.root() / KEPT, text)


def kept_peaks(context: Context) -> str | None:
    """What earlier builds have left; None where there is nothing."""
    with suppress(HostError):
        return context.trees.read(context.store.root() / KEPT)
    return None
