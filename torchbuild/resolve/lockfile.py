"""The lock as a file: TOML, byte-stable, refused where it is stale, altered or too new."""

from __future__ import annotations

import hashlib
import json
import tomllib
from typing import Any

import tomli_w
from pydantic import ValidationError

from torchbuild.errors import LockError
from torchbuild.model.frozen import frozen_value
from torchbuild.model.lock import LOCK_SCHEMA, Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import recipe_digest

__all__ = ["check_fresh", "dump_lock", "parse_lock"]

_HEADER = "# Made by `torchbuild lock`: every input of one build, exactly. Not written by hand.\n"
_ONLY_WHERE_THERE = ("facts", "gpu_archs", "parts")
"""What is left out where it is empty: a lock that was made before there were any stays what it was."""
_DIGEST = "digest"
"""The file's own key, over all others: how a change by hand is noticed. No protection against malice."""


def dump_lock(lock: Lock) -> str:
    """The file's text; the same lock gives the same bytes."""
    table = _without_none(lock.model_dump(mode="json", by_alias=True))
    head = {"schema": table.pop("schema")}
    for name in _ONLY_WHERE_THERE:
        if not table[name]:
            del table[name]
    own = {_DIGEST: _digest(head | table)}
    return _HEADER + tomli_w.dumps(head | own | table, indent=2)


def _digest(table: dict[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_none(value: Any) -> Any:  # noqa: ANN401  any JSON value
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value


def parse_lock(text: str, file: str) -> Lock:
    """The lock.

    Raises:
        LockError: ``lock-unreadable``; ``lock-too-new``; ``lock-altered`` where it was changed by hand.
    """
    try:
        table = tomllib.loads(text)
        _check_schema(table, file)
        _check_digest(table, file)
        return Lock.model_validate(_with_none(frozen_value(table)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _unreadable(file, f"{where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:  # no TOML, a number of 5000 digits, nesting without end
        raise _unreadable(file, str(error) or type(error).__name__) from error


def _check_schema(table: dict[str, Any], file: str) -> None:
    schema = table.get("schema")
    if isinstance(schema, int) and schema > LOCK_SCHEMA:
        raise LockError(
            "lock-too-new",
            f"{file} was made by a newer torchbuild",
            why=(f"seen schema {schema}", f"wanted at most {LOCK_SCHEMA}"),
            fix="Install a newer torchbuild, or make the lock anew with `torchbuild lock`.",
        )


def _check_digest(table: dict[str, Any], file: str) -> None:
    seen, wanted = table.pop(_DIGEST, None), _digest(table)
    if seen != wanted:
        raise LockError(
            "lock-altered",
            f"{file} was changed after torchbuild wrote it",
            why=(f"seen digest {str(seen)[:64] if seen else 'missing'}", f"wanted digest {wanted}"),
            fix="Run `torchbuild lock` to make it anew; what a build is made of is changed in the recipe.",
        )


def _with_none(table: Any) -> Any:  # noqa: ANN401  any TOML value
    """TOML has no null: an absent ``wheel.requires`` means that nothing is known."""
    if isinstance(table, dict) and isinstance(table.get("wheel"), dict):
        table["wheel"].setdefault("requires", None)
    return table


def _unreadable(file: str, why: str) -> LockError:
    return LockError(
        "lock-unreadable",
        f"{file} is not a lock that torchbuild wrote",
        why=why,
        fix="Make it anew with `torchbuild lock`.",
    )


def check_fresh(lock: Lock, recipe: Recipe, file: str) -> None:
    """LockError(lock-stale) where the recipe has changed since the lock was made."""
    digest = recipe_digest(recipe)
    if lock.recipe != digest:
        raise LockError(
            "lock-stale",
            f"{file} was made from another state of the recipe",
            why=(f"seen a lock of recipe {lock.recipe[:12]}", f"wanted one of recipe {digest[:12]}"),
            fix="Run `torchbuild lock` and review what changed.",
        )
