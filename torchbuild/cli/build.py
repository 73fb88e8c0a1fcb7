"""``torchbuild build``: a recipe's wheel, verified."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchbuild.cli.despite import Despite
from torchbuild.cli.options import dev_option, json_option, progress_option, recipe_options, slice_options
from torchbuild.cli.stop_after import Duration

if TYPE_CHECKING:
    from torchbuild.cli.running import Ended
    from torchbuild.report.progress import Look

__all__ = ["build"]


@click.command()
@recipe_options
@click.option("--locked", is_flag=True, help="Refuse a missing or stale lock instead of making it anew.")
@slice_options
@click.option("--target", metavar="NAME", help="Compile only this CMake target or object path, then stop.")
@click.option(
    "--out", metavar="FOLDER", type=click.Path(path_type=Path), default=Path("dist"), show_default=True,
    help="Where the wheel is laid, with its digest, lock and report.",
)  # fmt: skip
@dev_option("Build in one kept workspace, where the tree may be edited; the wheel's version says dev.")
@click.option(
    "--paranoid", is_flag=True,
    help="Read again the stored files of the lock and what earlier runs made: inputs, tools, source, build"
    " tree, wheel; what is damaged is fetched or made anew. Else size, time, inode and mode are believed.",
)  # fmt: skip
@click.option(
    "--despite", metavar="WHAT", type=Despite(), multiple=True,
    help="Go on although WHAT: open-network, nothing on this machine keeps the build from its network; or the"
    " reference of a look before the build that failed. The wheel's provenance says so. Can be repeated.",
)  # fmt: skip
@click.option(
    "--stop-after", metavar="TIME", type=Duration(),
    help="After TIME, such as 3h or 1h30m, begin no compiler and no stage any more, and end with exit code 75"
    " once what runs is finished. The same command goes on.",
)  # fmt: skip
@progress_option
@json_option
def build(
    *,
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    locked: bool,
    first: str | None,
    last: str | None,
    target: str | None,
    out: Path,
    is_dev: bool,
    paranoid: bool,
    despite: tuple[str, ...],
    stop_after: int | None,
    progress: Look,
    as_json: bool,
) -> None:
    """Build the wheel of RECIPE, from fetch to publish. What is done and intact is not done again.

    The first Ctrl-C lets compilers that run end, a second one ends all at once; the same command goes on.

    First it looks at all that `torchbuild doctor` looks at, and begins only where nothing would fail.
    Without a lock, or with one of another state of the recipe, the lock is made first. Progress is told on
    stderr; the wheel's path, or the report's where no wheel is made, is printed on stdout.

    Stages: fetch, toolchain, source, configure, compile, package, verify, publish.
    """
    begun = time.monotonic()
    from torchbuild.cli.output import print_result  # noqa: PLC0415  help must not pay for the pipeline
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.running import Asked, run_build  # noqa: PLC0415

    asked = Asked(
        recipe=recipe,
        lock=lock,
        overrides=overrides,
        allowed=allowed,
        must_be_locked=locked,
        target=target,
        out=out,
        forced=first is not None,
        is_dev=is_dev,
        paranoid=paranoid,
        despite=despite,
        until=None if stop_after is None else begun + stop_after,
        progress=progress,
    )
    ended = run_build(asked, places(), _stages(first, last, target))
    print_result(_result(ended), as_json=as_json, text=ended.wheel or str(ended.report))


def _result(ended: Ended) -> dict[str, Any]:
    """For programs."""
    return {
        "run": ended.run,
        "report": ended.report,
        "wheel": ended.wheel or None,
        "sha256": ended.sha256 or None,
        "stages": [{"stage": item.stage, "outcome": item.outcome} for item in ended.outcomes],
    }


def _stages(first: str | None, last: str | None, target: str | None) -> tuple[Any, ...]:
    """The slice; one target ends with compile."""
    from torchbuild.errors import UsageError  # noqa: PLC0415  as above
    from torchbuild.pipeline import stage_slice  # noqa: PLC0415

    if target is not None and (not target.strip() or target.startswith("-")):
        raise UsageError(
            "target-invalid",
            f"--target {target!r} is no target",
            why="wanted a CMake target's name, or the path of an object; this would be read as an option",
            fix="Name one; `ninja -t targets all` in the build tree lists them.",
        )
    if target is not None and last not in (None, "compile"):
        raise UsageError(
            "target-until",
            f"--target {target} ends with compile, and --until asks for {last}",
            why="wanted --target alone, or with --until compile",
            fix="Leave out --until.",
        )
    return stage_slice(first, "compile" if target is not None else last)
