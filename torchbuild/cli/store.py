"""``torchbuild store``: what lies on this machine, and why."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click

from torchbuild.cli.options import json_option

__all__ = ["store"]


@click.command()
@json_option
def store(as_json: bool) -> None:  # noqa: FBT001
    """List runs, stored files and caches with their sizes."""
    from torchbuild.cli.places import places  # noqa: PLC0415  as in build
    from torchbuild.edges.housekeeping import sizes  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    here = places()
    seen = sizes(here.builds, DirectoryStore(here.store), [here.compiler_cache, here.cache / "git"])
    if as_json:
        runs = [
            {
                "run": item.run,
                "recipe": item.recipe,
                "bytes": item.size,
                "busy": item.is_busy,
                "path": str(item.path),
            }
            for item in seen.workspaces
        ]
        files = {"files": len(seen.store), "bytes": sum(item.size for item in seen.store)}
        caches = [{"path": str(path), "bytes": size} for path, size in seen.caches]
        click.echo(json.dumps({"runs": runs, "store": files, "caches": caches}, indent=1))
        return
    for item in seen.workspaces:
        used = datetime.fromtimestamp(item.last_used, UTC).strftime("%Y-%m-%d %H:%M")
        click.echo(f"run    {_size(item.size):>9}  {used}  {item.run}{'  (busy)' if item.is_busy else ''}")
    click.echo(
        f"store  {_size(sum(item.size for item in seen.store)):>9}  {len(seen.store)} files  {here.store}"
    )
    for path, size in seen.caches:
        click.echo(f"cache  {_size(size):>9}  {path}")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"  # noqa: PLR2004  units
