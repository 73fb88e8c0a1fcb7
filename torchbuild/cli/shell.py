"""``torchbuild shell``: the environment of a build, as it was."""

from __future__ import annotations

import sys

import click

__all__ = ["shell"]


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("run")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def shell(*, run: str, argv: tuple[str, ...]) -> None:
    """Open a shell in the workspace of RUN, at the build's path, with its environment and no network.

    With ARGV, run that instead; the exit code is its own. `torchbuild store` lists the runs. While the
    shell is open, no build can use the workspace.
    """
    from torchbuild.cli.places import places  # noqa: PLC0415  as in build
    from torchbuild.cli.revisit import revisit  # noqa: PLC0415

    sys.exit(revisit(run, argv[1:] if argv[:1] == ("--",) else argv, places()))
