"""Write docs/reference/recipe.md and recipe.schema.json from the recipe's model. --check: are they?

The words are the attribute docstrings of torchbuild/model/recipe.py: there is no other place to edit.
"""

# ruff: noqa: INP001, T201  a script of the repository

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from torchbuild.cli.schema import schema_text
from torchbuild.model.byte_size import BYTE_SIZE
from torchbuild.model.recipe import Recipe

__all__ = ["main", "page"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
HEAD = """\
# The recipe

<!-- Made by tools/reference.py from torchbuild/model/recipe.py. Not written by hand. -->

A recipe is a TOML file: what one wheel is to be. Every key is below; one that is not is an error, and so is
one that is known and that nothing acts on yet. `torchbuild explain KEY` prints the same on a terminal,
[recipe.schema.json](recipe.schema.json) tells it to editors.
"""


def main() -> int:
    """Exit code 0 where the files are what the model says; with ``--check`` nothing is written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    options = parser.parse_args()
    wanted = {
        FOLDER / "recipe.schema.json": schema_text() + "\n",
        FOLDER / "recipe.md": page(Recipe.model_json_schema(by_alias=True)),
    }
    stale = [path for path, content in wanted.items() if not _is(path, content)]
    for path in stale:
        if options.check:
            print(f"{path} is not what the model says: run tools/reference.py", file=sys.stderr)
        else:
            path.write_text(wanted[path], encoding="utf-8")
            print(path)
    return 1 if options.check and stale else 0


def _is(path: Path, content: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == content


def page(schema: dict[str, Any]) -> str:
    """The page: the top level, then each table in the order in which a recipe names it."""
    parts = [HEAD, _table(schema, schema)]
    for name, headings in _headings(schema).items():
        model = schema["$defs"][name]
        title = ", ".join(f"`{heading}`" for heading in headings)
        parts.append(f"## {title}\n\n{_words(model)}\n\n{_table(model, schema)}")
    return "\n".join(parts)


def _headings(schema: dict[str, Any]) -> dict[str, list[str]]:
    """Where each definition stands in a recipe, a table inside another right after it."""
    found: dict[str, list[str]] = {}
    _collect("", schema, schema["$defs"], found)
    return found


def _collect(
    above: str, model: dict[str, Any], definitions: dict[str, Any], found: dict[str, list[str]]
) -> None:
    for key, value in model["properties"].items():
        path = f"{above}.{key}" if above else key
        for name, is_list in _references(value):
            heading = f"[[{path}]]" if is_list else f"[{path}]"
            if name not in found:
                found[name] = [heading]
                _collect(path, definitions[name], definitions, found)
            elif not above:
                found[name].append(heading)


def _references(value: dict[str, Any]) -> list[tuple[str, bool]]:
    """Definitions that a key leads to, each once, and whether the key holds a list of them."""
    if "$ref" in value:
        return [(value["$ref"].rpartition("/")[2], False)]
    found = [pair for choice in value.get("anyOf", ()) for pair in _references(choice)]
    if isinstance(value.get("items"), dict):
        found += [(name, True) for name, _ in _references(value["items"])]
    return list(dict(found).items())


def _table(model: dict[str, Any], schema: dict[str, Any]) -> str:
    required = set(model.get("required", ()))
    rows = ["| key | value | default | |", "|---|---|---|---|"]
    for key, value in model["properties"].items():
        default = "must be given" if key in required else _default(value)
        cells = (f"`{key}`", _type(value), default, _words(value) or _about(value, schema))
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _about(value: dict[str, Any], schema: dict[str, Any]) -> str:
    return next((_words(schema["$defs"][name]) for name, _ in _references(value)), "")


def _words(value: dict[str, Any]) -> str:
    return " ".join(str(value.get("description", "")).replace("``", "`").split())


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None:
        return "empty" if value.get("type") == "object" else ""
    return "as below" if isinstance(default, dict) else f"`{json.dumps(default)}`"


def _type(value: dict[str, Any]) -> str:
    """What may stand there, in a few words."""
    if "anyOf" in value:
        return " or ".join(_type(choice) for choice in value["anyOf"] if choice.get("type") != "null")
    if "enum" in value or "const" in value:
        return ", ".join(f"`{json.dumps(choice)}`" for choice in value.get("enum", [value.get("const")]))
    if value.get("type") == "array":
        inner = _type(value.get("items", {}))
        return "tables" if inner == "table" else f"list of {inner}"
    if "$ref" in value or value.get("type") == "object":
        return "table"
    if value.get("pattern") == BYTE_SIZE:
        return "size, such as `20 GiB`"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(str(value.get("type")), "anything")


if __name__ == "__main__":
    sys.exit(main())
