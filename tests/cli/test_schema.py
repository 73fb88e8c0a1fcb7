"""`torchbuild schema`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from torchbuild.cli.main import run_main
from torchbuild.cli.recipe_keys import all_keys

ROOT = Path(__file__).parents[2]
RECIPES = sorted(
    path
    for folder in ("recipes", "examples")
    for path in (ROOT / folder).rglob("*.toml")
    if "tree" not in path.parts
)


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command prints."""
    assert run_main(["schema"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_it_is_a_schema(schema: dict[str, Any]) -> None:
    """Editors and other programs understand it."""
    jsonschema.Draft202012Validator.check_schema(schema)


def test_it_holds_every_key_with_its_text(schema: dict[str, Any]) -> None:
    """An editor shows what each key is for."""
    properties = schema["properties"]

    assert set(properties) == {key for key in all_keys() if "." not in key}
    assert all("description" in value or "$ref" in value for value in properties.values())


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_it_accepts_the_recipes_that_we_ship(schema: dict[str, Any], path: Path) -> None:
    """A recipe that builds is not underlined in red. One that extends another may lack what the other has."""
    recipe = tomllib.loads(path.read_text(encoding="utf-8"))
    problems = [
        error
        for error in jsonschema.Draft202012Validator(schema).iter_errors(recipe)
        if "extends" not in recipe or error.validator != "required"
    ]

    assert ("schema" not in recipe) or problems == []


def test_it_refuses_an_unknown_key(schema: dict[str, Any]) -> None:
    """A misspelt key is found while one types."""
    recipe = {"schema": 1, "name": "x", "sauce": {}, "source": {"path": "."}, "wheel": {"version": "1"}}

    assert not jsonschema.Draft202012Validator(schema).is_valid(recipe)
