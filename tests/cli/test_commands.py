"""The table of commands."""

from __future__ import annotations

import click
import pytest

from torchbuild.cli.commands import COMMANDS, load_command, unknown_command


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_exists_under_its_name(name: str) -> None:
    """What `--help` lists can be called."""
    command = load_command(name)

    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_is_one_sentence(name: str) -> None:
    """The list of commands reads like a list."""
    assert COMMANDS[name].help.endswith(".")
    assert len(COMMANDS[name].help) < 70


def test_a_mistyped_command_is_recognised() -> None:
    """The one that was probably meant is named."""
    assert unknown_command("plann").fix == "Run torchbuild plan."
