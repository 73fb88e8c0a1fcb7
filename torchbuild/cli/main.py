"""The command ``torchbuild``: finds the sub-command, and turns every ending into an exit code.

Nothing heavy is imported before it is needed: ``torchbuild --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from torchbuild.cli.commands import COMMANDS, load_command, unknown_command
from torchbuild.cli.output import flush_stdout
from torchbuild.cli.streams import open_missing_streams

__all__ = ["cli", "main", "run_main"]

_NAME = "torchbuild"
_COMPLETE = "_TORCHBUILD_COMPLETE"


class _Commands(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown_command(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    if wanted and not ctx.resilient_parsing:
        from torchbuild import __version__  # noqa: PLC0415  slow to find

        click.echo(f"torchbuild {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Print the version and exit.",
)
def cli() -> None:
    """One recipe in, one verified PyTorch wheel out."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    open_missing_streams()
    # pydantic would look through every installed distribution for plugins, which could change our values too
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(run_main(sys.argv[1:] if argv is None else argv))


def run_main(argv: Sequence[str]) -> int:
    """Run one command line to its exit code. Every error ends here."""
    try:
        code = _invoke(list(argv) or ["--help"])
        flush_stdout()
    except SystemExit as error:
        return _code(error.code)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  this is the boundary
        from torchbuild.cli.boundary import show_error  # noqa: PLC0415  only where something went wrong

        return show_error(error, argv)
    return code


def _invoke(argv: list[str]) -> int:
    """What `click.Group.main` does, less its own handling of errors and of broken pipes."""
    completion = os.environ.get(_COMPLETE)
    if completion is not None:
        from click.shell_completion import shell_complete  # noqa: PLC0415  only where a shell asks

        return shell_complete(cli, {}, _NAME, _COMPLETE, completion)
    try:
        with cli.make_context(_NAME, argv) as ctx:
            return _code(cli.invoke(ctx))
    except click.exceptions.Exit as ended:
        return ended.exit_code


def _code(value: object) -> int:
    """What a command returned, or handed to `sys.exit`, as an exit code."""
    return value if type(value) is int else 0
