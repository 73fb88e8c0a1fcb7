"""The patches of a quilt series: names out of a file that somebody else wrote."""

from __future__ import annotations

from collections.abc import Iterable

from torchbuild.errors import RecipeError
from torchbuild.model.inner_path import leaves

__all__ = ["checked_names"]


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names of a series' patches, each of them a file below the folder of the series.

    Raises:
        RecipeError: ``series-leaves-folder``.
    """
    names = tuple(names)
    for name in names:
        if leaves(name) or not name.isprintable() or "\\" in name:
            raise RecipeError(
                "series-leaves-folder",
                f"the series applies {name!r}, which is no file of its own folder",
                why=f"seen {name!r}; wanted a path below the folder of the file `series`",
                fix="Exclude the patch with source.series.exclude, or look where this series comes from.",
            )
    return names
