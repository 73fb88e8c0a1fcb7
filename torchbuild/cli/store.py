"""``torchbuild store``: what lies on this machine, and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from torchbuild.cli.options import json_option

if TYPE_CHECKING:
    from torchbuild.cli.places import Places
    from torchbuild.edges.housekeeping import Sizes

__all__ = ["store"]

_GB = 1_000_000_000


@click.command()
@json_option
def store(*, as_json: bool) -> None:
    """List runs, stored files and caches with their sizes. `torchbuild clean` removes them."""
    from torchbuild.cli.output import print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.edges.housekeeping import sizes  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    here = places()
    seen = sizes(here.builds, DirectoryStore(here.store), here.caches)
    print_result(_json(seen, here), as_json=as_json, text="\n".join(_lines(seen, here)))


def _json(seen: Sizes, here: Places) -> dict[str, object]:
    runs = [
        {"run": item.run, "recipe": item.recipe, "bytes": item.size, "busy": item.is_busy, "path": item.path}
        for item in seen.workspaces
    ]
    stored = {
        "path": here.store, "files": len(seen.store), "bytes": sum(item.size for item in seen.store),
    }  # fmt: skip
    caches = [{"path": path, "bytes": size} for path, size in seen.caches]
    return {"builds": here.builds, "runs": runs, "store": stored, "caches": caches}


def _lines(seen: Sizes, here: Places) -> Iterator[str]:
    for item in seen.workspaces:
        used = datetime.fromtimestamp(item.last_used, UTC).strftime("%Y-%m-%d %H:%M")
        yield f"run    {_size(item.size):>9}  {used}  {item.run}{'  (busy)' if item.is_busy else ''}"
    if not seen.workspaces:
        yield f"no runs in {here.builds}"
    yield f"store  {_size(sum(item.size for item in seen.store)):>9}  {len(seen.store)} files  {here.store}"
    for path, size in seen.caches:
        yield f"cache  {_size(size):>9}  {path}"


def _size(count: int) -> str:
    return f"{count / _GB:.1f} GB" if count >= _GB else f"{count / 1e6:.1f} MB"
