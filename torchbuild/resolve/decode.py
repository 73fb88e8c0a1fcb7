"""TOML text -> table -> recipe, with every problem at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.frozen import frozen_value
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.lines import Place, Places, key_lines
from torchbuild.resolve.overrides import OVERRIDE_FILE
from torchbuild.resolve.problems import MOST_PROBLEMS, Location, dotted, located, path_of, problems_of

__all__ = [
    "MAX_NESTING",
    "MAX_SIZE",
    "check_sound",
    "decode_recipe",
    "invalid",
    "parse_toml",
    "wants_text",
]

Table = dict[str, Any]

MAX_SIZE = 1_000_000
"""Characters of a recipe file; one of people's writing has a few thousand."""
MAX_NESTING = 16
"""Tables and lists inside one another; the model needs six."""
_MOST_PARTS = 64
_LIKE_A_KEY = re.compile(r"""[\w\-"'. \t]+""")
_STEP = re.compile(r"""[\w\-"'][ \t]*\.""")
_LARGEST = 2**63
"""TOML's whole numbers have 64 bits."""


def parse_toml(text: str, file: str) -> Table:
    """The table.

    Raises:
        RecipeError: ``recipe-too-large``; ``recipe-not-toml`` with line and column; as `check_sound`.
    """
    if len(text) > MAX_SIZE:
        raise RecipeError(
            "recipe-too-large",
            f"{file} is too large for a recipe",
            why=(f"seen {len(text)} characters", f"wanted at most {MAX_SIZE}"),
            fix="Name a recipe file; what it refers to belongs in files of its own.",
        )
    _check_keys(text, file)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5000 digits is a plain ValueError
        raise RecipeError(
            "recipe-not-toml",
            f"{file} is not TOML",
            why=str(error) or type(error).__name__,
            fix=f"Correct the syntax of {file} at the place named above.",
        ) from error
    check_sound(table, file, lambda: {path: Place(file, line) for path, line in key_lines(text).items()})
    return table


def _check_keys(text: str, file: str) -> None:
    """The parser takes quadratic time for a key of many parts, so such a key does not get that far."""
    for match in _LIKE_A_KEY.finditer(text):
        if match[0].count(".") > _MOST_PARTS and len(_STEP.findall(match[0])) > _MOST_PARTS:
            line = text.count("\n", 0, match.start()) + 1
            problem = Problem(
                path=match[0].strip()[:31], seen="a key without end", wanted="a key of a recipe"
            )
            raise invalid((problem,), file, {problem.path: Place(file, line)})


def check_sound(table: Table, file: str, places: Callable[[], Places]) -> None:
    """RecipeError(recipe-invalid) for what no recipe can hold: numbers beyond 64 bits, NUL, deep nesting."""
    unsound = list(islice(_unsound(table), MOST_PROBLEMS))
    if unsound:
        raise invalid(unsound, file, places())


def _unsound(table: Table) -> Iterator[Problem]:
    """Without recursion: the nesting is what must be bounded first."""
    todo: list[tuple[Location, object]] = [((), table)]
    while todo:
        location, value = todo.pop()
        if isinstance(value, Mapping | list) and len(location) >= MAX_NESTING:
            wanted = f"at most {MAX_NESTING} tables and lists inside one another"
            yield Problem(path=dotted(location[:MAX_NESTING]), seen="more inside", wanted=wanted)
        elif isinstance(value, Mapping):
            todo += [((*location, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            todo += [((*location, index), item) for index, item in enumerate(value)]
        elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            yield Problem(path=dotted(location), seen="a larger number", wanted="a number of 64 bits")
        elif isinstance(value, str) and not _is_text(value):
            yield Problem(path=dotted(location), seen=ascii(value)[:60], wanted="text without NUL, in UTF-8")


def _is_text(value: str) -> bool:
    """No argument, variable or path can hold a NUL, and no file of ours half a character."""
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def decode_recipe(table: Table, *, file: str, places: Places | None = None) -> Recipe:
    """The recipe, or RecipeError(recipe-invalid) with all problems.

    Args:
        table: as `parse_toml` gives it, or several of them merged.
        file: the recipe, for problems whose key stands nowhere.
        places: where each key stands.
    """
    try:
        return Recipe.model_validate(frozen_value(table))
    except ValidationError as error:
        problems = problems_of(error, file, places or {})
    raise invalid(problems, file, places or {})


def wants_text(table: Table) -> frozenset[str]:
    """Dotted paths where something else stands and only text may: for values typed without quotes."""
    try:
        Recipe.model_validate(frozen_value(table))
    except ValidationError as error:
        details = error.errors(include_url=False)
        return frozenset(path_of(item["loc"]) for item in details if item["type"] == "string_type")
    return frozenset()


def invalid(problems: Sequence[Problem], file: str, places: Places) -> RecipeError:
    """The one error that holds all problems of a recipe, each at its place."""
    told = tuple(located(problem, file, places) for problem in problems)
    if all(problem.file == OVERRIDE_FILE for problem in told):
        file = OVERRIDE_FILE
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    return RecipeError(
        "recipe-invalid",
        f"{count}{' and more' if len(problems) == MOST_PROBLEMS else ''} in {file}",
        problems=told,
        fix=f"Correct {file}; `torchbuild explain KEY` tells what each key means.",
    )
