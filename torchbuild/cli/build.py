"""``torchbuild build``: a recipe's wheel, verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from torchbuild.cli.options import json_option, recipe_options

__all__ = ["build"]


@click.command()
@recipe_options
@click.option("--locked", is_flag=True, help="Refuse a missing or stale lock instead of making one.")
@click.option("--from", "first", metavar="STAGE", help="Begin here, even if it is done.")
@click.option("--until", "last", metavar="STAGE", help="End after this stage.")
@click.option("--target", metavar="NAME", help="Compile only this CMake target or object path, then stop.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("dist"), help="Folder for the wheel.")
@click.option("--paranoid", is_flag=True, help="Hash what earlier runs made before believing in it.")
@json_option
def build(  # noqa: PLR0917  one parameter an option is click's way
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    locked: bool,  # noqa: FBT001
    first: str | None,
    last: str | None,
    target: str | None,
    out: Path,
    paranoid: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Build the wheel of RECIPE, from fetch to publish. What is done and intact is not done again."""
    from torchbuild.cli.places import places  # noqa: PLC0415  help must not pay for the pipeline
    from torchbuild.cli.running import Asked, run_build  # noqa: PLC0415
    from torchbuild.pipeline import stage_slice  # noqa: PLC0415

    asked = Asked(
        recipe=recipe,
        lock=lock,
        overrides=overrides,
        allowed=allowed,
        must_be_locked=locked,
        target=target,
        out=out,
        forced=first is not None,
        paranoid=paranoid,
    )
    ended = run_build(asked, places(), stage_slice(first, last))
    result: dict[str, Any] = {
        "run": ended.run,
        "report": str(ended.report),
        "wheel": ended.wheel or None,
        "sha256": ended.sha256 or None,
        "stages": [{"stage": item.stage, "outcome": item.outcome} for item in ended.outcomes],
    }
    click.echo(json.dumps(result, indent=1) if as_json else ended.wheel or str(ended.report))
