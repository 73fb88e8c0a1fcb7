"""``torchbuild clean``: give space back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from torchbuild.cli.options import json_option

if TYPE_CHECKING:
    from torchbuild.cli.places import Places

__all__ = ["clean"]

_MOST_NAMES = 5


@click.command()
@click.argument("runs", nargs=-1)
@click.option("--builds", is_flag=True, help="Remove every workspace.")
@click.option(
    "--cache", is_flag=True, help="Remove stored files, repositories, unpacked images and compiler caches."
)
@json_option
def clean(*, runs: tuple[str, ...], builds: bool, cache: bool, as_json: bool) -> None:
    """Remove the workspaces of RUNS, or all of them with --builds.

    What a running build holds stays, and so do wheels in your own folders and images that you brought as
    files. `torchbuild store` lists what there is.
    """
    from torchbuild.cli.output import print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.revisit import unknown_run  # noqa: PLC0415
    from torchbuild.edges.atomic import leftovers  # noqa: PLC0415
    from torchbuild.edges.housekeeping import clean as remove  # noqa: PLC0415
    from torchbuild.edges.housekeeping import workspaces  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    if not runs and not builds and not cache:
        raise _nothing_named()
    here = places()
    known = {item.run for item in workspaces(here.builds)}
    for run in runs:
        if run not in known:
            raise unknown_run(run, here.builds)
    if cache:
        _require_ours(here)
    done = remove(
        here.builds,
        runs=None if builds else runs,
        store=DirectoryStore(here.store) if cache else None,
        caches=[*here.caches, *leftovers(here.cache)] if cache else [],
        roots=here.roots if cache else None,
        live=here.live,
    )
    for item in done.skipped:
        sys.stderr.write(f"kept {item.path}: {item.why}\n")
    removed = [{"path": item.path, "bytes": item.size} for item in done.removed]
    kept = [{"path": item.path, "why": item.why} for item in done.skipped]
    text = f"removed {len(done.removed)} items, {done.size / 1e6:.1f} MB"
    print_result({"removed": removed, "kept": kept, "bytes": done.size}, as_json=as_json, text=text)


def _require_ours(here: Places) -> None:
    """A folder that holds other things too is somebody's own: what has our names in it may be theirs."""
    from torchbuild.edges.housekeeping import foreign_entries  # noqa: PLC0415  as in build
    from torchbuild.errors import UsageError  # noqa: PLC0415

    foreign = foreign_entries(here.cache, here.names)
    if foreign:
        more = ", …" if len(foreign) > _MOST_NAMES else ""
        raise UsageError(
            "cache-not-ours",
            f"{here.cache} holds more than torchbuild puts there: nothing was removed",
            why=f"seen {', '.join(foreign[:_MOST_NAMES])}{more}; wanted only {', '.join(here.names)}",
            fix="Set TORCHBUILD_CACHE to a folder of its own, and remove by hand what is no longer needed.",
        )


def _nothing_named() -> Exception:
    from torchbuild.errors import UsageError  # noqa: PLC0415  as in build

    return UsageError(
        "clean-what",
        "nothing was named",
        why="wanted runs, --builds or --cache",
        fix="See what there is with `torchbuild store`, then name it.",
    )
