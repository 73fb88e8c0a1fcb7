"""``torchbuild schema``: the recipe's JSON Schema, generated from the model."""

from __future__ import annotations

import json

import click

__all__ = ["schema"]


@click.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors and other programs."""
    from torchbuild.model.recipe import Recipe  # noqa: PLC0415  help must not pay for pydantic

    content = Recipe.model_json_schema(by_alias=True) | {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
    }
    click.echo(json.dumps(content, indent=2, sort_keys=True))
