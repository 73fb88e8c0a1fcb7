"""``torchbuild shell``: the environment of a build, as it was."""

from __future__ import annotations

import sys

import click

__all__ = ["shell"]


@click.command()
@click.argument("run")
@click.argument("argv", nargs=-1)
def shell(run: str, argv: tuple[str, ...]) -> None:
    """Open a shell in RUN's workspace, at the fixed path, with the build's own environment. Or run ARGV there."""
    from torchbuild.cli.places import places  # noqa: PLC0415  as in build
    from torchbuild.cli.revisit import revisit  # noqa: PLC0415

    sys.exit(revisit(run, argv, places()))
