"""What pydantic found wrong, as problems that an author understands: path, place, seen, wanted, nearest."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_words import PATTERNS
from torchbuild.resolve.lines import Places, place_of

__all__ = [
    "MOST_PROBLEMS",
    "Location",
    "dotted",
    "known_keys",
    "located",
    "path_of",
    "problems_of",
    "shown",
]

Location = tuple[int | str, ...]
"""Keys and list indexes from the top."""

MOST_PROBLEMS = 100
"""How many are told at once; nobody reads more, and a hostile file can hold a million."""

_WIDTH = 60
_QUOTED = re.compile(r"'([^']*)'")
_FREE_VALUES = (("build", "flags"), ("build", "cmake"))
"""Tables whose values may be of several types."""
_BRANCHES = {"bool", "int", "str"}
"""What pydantic calls those types; it puts the name behind the key."""
_BY_TYPE = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "missing": "a value: the key is required",
    "model_type": "a table",
    "string_pattern_mismatch": "{pattern}",
    "string_too_long": "at most {max_length} letters",
    "string_type": "text, in quotes",
    "too_short": "at least {min_length} of them",
    "tuple_type": "a list",
}


def problems_of(error: ValidationError, file: str, places: Places) -> tuple[Problem, ...]:
    """Every problem, each path once, in the order of the model; at most `MOST_PROBLEMS`."""
    found: dict[str, Problem] = {}
    for detail in error.errors(include_url=False):
        path = path_of(detail["loc"])
        if path not in found and len(found) < MOST_PROBLEMS:
            found[path] = located(_problem(path, detail), file, places)
    return tuple(found.values())


def located(problem: Problem, file: str, places: Places) -> Problem:
    """The problem with the file and line of its key, or of the table that it would be in."""
    place = place_of(problem.path, places)
    return Problem(
        path=problem.path,
        seen=problem.seen,
        wanted=problem.wanted,
        suggestion=problem.suggestion,
        file=place.file if place else file,
        line=place.line if place else None,
    )


def shown(value: object) -> str:
    """A value as its author wrote it, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def dotted(location: Location) -> str:
    """``source.overlay[0].to``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def known_keys(location: Location) -> list[str]:
    """The keys of the model at a place of the recipe, sorted; none where they are the author's own."""
    model: type[BaseModel] = Recipe
    for part in location:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        inner = next(_models_in(field.annotation), None) if field is not None else None
        if inner is None:
            return []
        model = inner
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def path_of(location: Location) -> str:
    """The dotted path, without what pydantic puts behind a key: the type that it tried, or ``[key]``."""
    if location[-1:] == ("[key]",) or _is_branch(location):
        location = location[:-1]
    return dotted(location)


def _is_branch(location: Location) -> bool:
    return location[:2] in _FREE_VALUES and len(location) == 4 and location[3] in _BRANCHES  # noqa: PLR2004


def _problem(path: str, detail: ErrorDetails) -> Problem:
    location, seen, wanted, suggestion = detail["loc"], shown(detail["input"]), _wanted(detail), ""
    if location[-1:] == ("[key]",):
        seen = f"the name {seen}"
    elif _is_branch(location):
        wanted = "true, false, a whole number or text"
    elif detail["type"] == "missing":
        seen = "nothing"
    elif detail["type"] == "extra_forbidden":
        known = known_keys(location[:-1])
        seen, wanted = f"unknown key {shown(location[-1])}", "one of " + ", ".join(known)
        suggestion = _nearest(str(location[-1]), known)
    elif detail["type"] == "literal_error":
        choices = _QUOTED.findall(wanted)
        wanted = " or ".join(shown(item) for item in choices) or wanted
        suggestion = _nearest(str(detail["input"]), choices)
    return Problem(path=path, seen=seen, wanted=wanted, suggestion=suggestion)


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word[:100], known, n=1)
    return near[0] if near else ""


def _wanted(detail: ErrorDetails) -> str:
    context = dict(detail.get("ctx", {}))
    if "pattern" in context:
        context["pattern"] = PATTERNS.get(str(context["pattern"]), context["pattern"])
    text = _BY_TYPE.get(detail["type"])
    return text.format(**context) if text else detail["msg"].removeprefix("Value error, wanted ")
