"""``torchbuild clean``: give space back."""

from __future__ import annotations

import json

import click

from torchbuild.cli.options import json_option

__all__ = ["clean"]


@click.command()
@click.argument("runs", nargs=-1)
@click.option("--builds", is_flag=True, help="Remove every workspace.")
@click.option("--cache", is_flag=True, help="Remove stored files, repositories and compiler caches.")
@json_option
def clean(runs: tuple[str, ...], builds: bool, cache: bool, as_json: bool) -> None:  # noqa: FBT001
    """Remove RUNS, or all of them with --builds. What a build holds stays. Wheels in your own folders stay."""
    from torchbuild.cli.places import places  # noqa: PLC0415  as in build
    from torchbuild.edges.housekeeping import clean as remove  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415
    from torchbuild.errors import UsageError  # noqa: PLC0415

    if not runs and not builds and not cache:
        raise UsageError(
            "clean-what",
            "nothing was named",
            why="wanted runs, --builds or --cache",
            fix="See what there is with `torchbuild store`, then name it.",
        )
    here = places()
    done = remove(
        here.builds,
        runs=None if builds else runs,
        store=DirectoryStore(here.store) if cache else None,
        caches=[here.compiler_cache, here.cache / "git", here.cache / "partial"] if cache else [],
    )
    for item in done.skipped:
        click.echo(f"kept {item.path}: {item.why}", err=True)
    if as_json:
        removed = [{"path": str(item.path), "bytes": item.size} for item in done.removed]
        click.echo(json.dumps({"removed": removed, "bytes": done.size}, indent=1))
    else:
        click.echo(f"removed {len(done.removed)} items, {done.size / 1e6:.1f} MB")
