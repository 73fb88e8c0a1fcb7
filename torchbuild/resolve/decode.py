"""TOML text -> recipe model, with every problem at once."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe

__all__ = ["decode_recipe", "frozen_value", "parse_toml"]

Table = dict[str, Any]


def parse_toml(text: str, file: str) -> Table:
    """The table, or RecipeError(recipe-not-toml) with line and column."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(
            "recipe-not-toml",
            f"{file} is not TOML",
            why=str(error) or type(error).__name__,
            fix=f"Correct the syntax of {file} at the place named above.",
        ) from error


def frozen_value(value: object) -> object:
    """Lists become tuples, all the way down: our values are frozen."""
    if isinstance(value, Mapping):
        return {key: frozen_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(frozen_value(item) for item in value)
    return value


def decode_recipe(table: Table, *, file: str, lines: Mapping[str, int] | None = None) -> Recipe:
    """The recipe, or RecipeError(recipe-invalid) with all problems."""
    try:
        return Recipe.model_validate(frozen_value(table))
    except ValidationError as error:
        problems = tuple(_problem(detail, file, lines or {}) for detail in error.errors(include_url=False))
    raise RecipeError(
        "recipe-invalid",
        f"{len(problems)} problem{'s' if len(problems) != 1 else ''} in {file}",
        problems=problems,
        fix=f"Correct {file}; `torchbuild explain KEY` tells what each key means.",
    )


def _dotted(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _line(path: str, lines: Mapping[str, int]) -> int | None:
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def _problem(detail: ErrorDetails, file: str, lines: Mapping[str, int]) -> Problem:
    loc = tuple(part for part in detail["loc"] if not _is_union_branch(part))
    path = _dotted(loc)
    seen = "nothing" if detail["type"] == "missing" else _shown(detail["input"])
    wanted, suggestion = detail["msg"], ""
    if detail["type"] == "extra_forbidden":
        known = _known_keys(loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1)
        seen, wanted = f"unknown key {loc[-1]!r}", "one of " + ", ".join(known)
        suggestion = near[0] if near else ""
    elif detail["type"] == "literal_error":
        allowed = str(detail.get("ctx", {}).get("expected", ""))
        near = difflib.get_close_matches(str(detail["input"]), allowed.replace("'", "").split(" or "), n=1)
        wanted, suggestion = allowed, near[0] if near else ""
    elif detail["type"] == "missing":
        wanted = "a value: the key is required"
    return Problem(
        path=path, seen=seen, wanted=wanted, line=_line(path, lines), file=file, suggestion=suggestion
    )


def _is_union_branch(part: int | str) -> bool:
    """Pydantic names the branch of a union (``bool``, ``constrained-str``) as if it were a key."""
    return isinstance(part, str) and part in {"bool", "int", "str"}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004  a message's width


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the model at a place of the recipe."""
    model: type[BaseModel] = Recipe
    for part in loc:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        inner = _model_in(field.annotation) if field is not None else None
        if inner is None:
            return []
        model = inner
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
