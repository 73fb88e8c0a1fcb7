"""Options that several commands share."""

from __future__ import annotations

import pytest

from torchbuild.cli.commands import COMMANDS, load_command


@pytest.mark.parametrize("name", ["build", "lock", "plan"])
def test_commands_on_recipes_take_the_same_options(name: str) -> None:
    """Who knows one command knows the others."""
    names = {parameter.name for parameter in load_command(name).params}

    assert names >= {"recipe", "lock", "overrides", "allowed", "as_json"}


@pytest.mark.parametrize("name", ["build", "plan"])
def test_a_slice_is_asked_for_in_the_same_words(name: str) -> None:
    """--from and --until mean the same wherever they are."""
    options = {option for parameter in load_command(name).params for option in parameter.opts}

    assert options >= {"--from", "--until"}


@pytest.mark.parametrize("name", ["build", "clean", "explain", "lock", "plan", "store"])
def test_whatever_has_a_result_has_it_as_json(name: str) -> None:
    """Programs need not read text for people."""
    assert "--json" in {option for parameter in load_command(name).params for option in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_says_what_it_does(name: str) -> None:
    """No option is without help."""
    options = [parameter for parameter in load_command(name).params if parameter.param_type_name == "option"]

    assert all(getattr(option, "help", None) for option in options)
