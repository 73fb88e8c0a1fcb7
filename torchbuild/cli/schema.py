"""``torchbuild schema``: the recipe's JSON Schema, generated from the model."""

from __future__ import annotations

import json

import click

__all__ = ["schema", "schema_text"]


@click.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors and other programs."""
    from torchbuild.cli.output import print_text  # noqa: PLC0415  help must not pay for pydantic

    print_text(schema_text())


def schema_text() -> str:
    """The schema as it is printed, and as docs/reference/recipe.schema.json holds it; no last line end."""
    from torchbuild.model.recipe import Recipe  # noqa: PLC0415  as above

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(Recipe.model_json_schema(by_alias=True) | dialect, indent=2, sort_keys=True)
