"""``torchbuild store``: what lies on this machine, whether it is whole, and what may go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchbuild.cli.options import json_option

if TYPE_CHECKING:
    from torchbuild.cli.places import Places
    from torchbuild.edges.garbage import Collected
    from torchbuild.edges.housekeeping import Sizes

__all__ = ["collection_text", "store"]

_GB = 1_000_000_000


class _Size(click.ParamType[int]):
    """A size as people write it."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from torchbuild.model.byte_size import bytes_of  # noqa: PLC0415  help must not pay for pydantic

        try:
            return bytes_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def store(ctx: click.Context, *, as_json: bool) -> None:
    """List runs, stored files, unpacked images and caches with their sizes.

    `torchbuild store gc` removes what no lock needs, by last use; `torchbuild store verify` reads every
    stored file again; `torchbuild clean` removes runs, or all.
    """
    if ctx.invoked_subcommand is not None:
        return
    from torchbuild.cli.output import print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.edges.housekeeping import sizes  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    here = places()
    seen = sizes(here.builds, DirectoryStore(here.store), here.caches, roots=here.roots)
    print_result(_json(seen, here), as_json=as_json, text="\n".join(_lines(seen, here)))


@store.command()
@click.option(
    "--max", "most", metavar="SIZE", type=_Size(),
    help="Keep so much, as 20 GiB, of what was used last. Default: only what live locks name.",
)  # fmt: skip
@click.option(
    "--keep-lock", "keep_locks", metavar="FILE", type=click.Path(path_type=Path), multiple=True,
    help="A further lock whose files stay. Can be repeated.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
@json_option
def gc(*, most: int | None, keep_locks: tuple[Path, ...], dry_run: bool, as_json: bool) -> None:
    """Remove stored files, repositories and unpacked images that no live lock names, by last use.

    Live are the locks of all runs that `torchbuild store` lists, those of runs in other builds folders that
    use this cache, and those of --keep-lock: what they name stays, whatever the limit. A run on disks that
    this machine does not see counts for a month. Builds may run meanwhile. What is removed is fetched again
    where it is needed.

    The compiler's cache keeps its own limit and is left alone; `torchbuild clean --cache` removes it.
    """
    from torchbuild.cli.output import print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.edges.garbage import collect  # noqa: PLC0415

    done = collect(places().collectable(), most=most, keep_locks=keep_locks, dry_run=dry_run)
    value = {
        "dry_run": dry_run,
        "removed": [{"path": item.path, "bytes": item.size} for item in done.removed],
        "kept": [{"path": item.path, "why": item.why} for item in done.kept],
        "bytes": done.freed,
        "left": done.left,
    }
    print_result(value, as_json=as_json, text=collection_text(done, most=most, dry_run=dry_run))


@store.command()
@click.option("--remove", is_flag=True, help="Remove what is damaged: the next build fetches it again.")
@json_option
def verify(*, remove: bool, as_json: bool) -> None:
    """Read every stored file and compare it with its digest. Fails where one is damaged."""
    from torchbuild.cli.output import print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

    files = DirectoryStore(places().store)
    entries = files.entries()
    damaged = [entry for entry in entries if not files.verify(entry.sha256)]
    if damaged and not remove:
        raise _damaged([entry.sha256 for entry in damaged], len(entries))
    freed = sum(files.remove(entry.sha256) for entry in damaged)
    value = {"files": len(entries), "removed": [entry.sha256 for entry in damaged], "bytes": freed}
    text = f"{len(entries) - len(damaged)} of {len(entries)} files are what their names say"
    if damaged:
        text += f"; {len(damaged)} damaged ones are removed, {_size(freed)}"
    print_result(value, as_json=as_json, text=text)


def _damaged(digests: list[str], count: int) -> Exception:
    from torchbuild.errors import HostError  # noqa: PLC0415  as in build

    return HostError(
        "store-file-damaged",
        f"{len(digests)} of {count} stored files are not what their names say",
        why=tuple(f"seen other bytes in {digest}" for digest in digests),
        fix="Run `torchbuild store verify --remove`, then build again: they are fetched anew.",
    )


def collection_text(done: Collected, *, most: int | None, dry_run: bool) -> str:
    """What a collection did, and why the rest is still there."""
    verb = "would remove" if dry_run else "removed"
    lines = [f"{verb} {len(done.removed)} items, {_size(done.freed)}; {_size(done.left)} stay"]
    reasons: dict[str, int] = {}
    for item in done.kept:
        reasons[item.why] = reasons.get(item.why, 0) + 1
    lines += [f"  kept {count}: {why}" for why, count in reasons.items()]
    if most is not None and done.left > most:
        lines.append(f"  still above {_size(most)}: `torchbuild clean RUN` frees what a run's lock names")
    return "\n".join(lines)


def _json(seen: Sizes, here: Places) -> dict[str, Any]:
    runs = [
        {"run": item.run, "recipe": item.recipe, "bytes": item.size, "busy": item.is_busy, "path": item.path}
        for item in seen.workspaces
    ]
    stored = {
        "path": here.store, "files": len(seen.store), "bytes": sum(item.size for item in seen.store),
    }  # fmt: skip
    caches = [{"path": path, "bytes": size} for path, size in seen.caches]
    images = [{"path": path, "bytes": size} for path, size in seen.images]
    return {"builds": here.builds, "runs": runs, "store": stored, "images": images, "caches": caches}


def _lines(seen: Sizes, here: Places) -> Iterator[str]:
    for item in seen.workspaces:
        used = datetime.fromtimestamp(item.last_used, UTC).strftime("%Y-%m-%d %H:%M")
        yield f"run    {_size(item.size):>9}  {used}  {item.run}{'  (busy)' if item.is_busy else ''}"
    if not seen.workspaces:
        yield f"no runs in {here.builds}"
    yield f"store  {_size(sum(item.size for item in seen.store)):>9}  {len(seen.store)} files  {here.store}"
    for path, size in seen.images:
        yield f"image  {_size(size):>9}  {path}"
    for path, size in seen.caches:
        yield f"cache  {_size(size):>9}  {path}"


def _size(count: int) -> str:
    return f"{count / _GB:.1f} GB" if count >= _GB else f"{count / 1e6:.1f} MB"
