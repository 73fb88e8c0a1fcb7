"""The lock as a file: TOML, byte-stable, refused where it is stale, altered or too new."""

from __future__ import annotations

import tomllib
from typing import Any

import tomli_w
from pydantic import ValidationError

from torchbuild.errors import LockError
from torchbuild.model.lock import LOCK_SCHEMA, Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import recipe_digest
from torchbuild.resolve.decode import frozen_value

__all__ = ["check_fresh", "dump_lock", "parse_lock"]

_HEADER = "# Made by `torchbuild lock`: every input of one build, exactly. Not written by hand.\n"


def dump_lock(lock: Lock) -> str:
    """The file's text; the same lock gives the same bytes."""
    return _HEADER + tomli_w.dumps(_without_none(lock.model_dump(mode="json", by_alias=True)), indent=2)


def _without_none(value: Any) -> Any:  # noqa: ANN401  any JSON value
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value


def parse_lock(text: str, file: str) -> Lock:
    """The lock, or LockError(lock-unreadable | lock-too-new)."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(file, str(error)) from error
    schema = table.get("schema")
    if isinstance(schema, int) and schema > LOCK_SCHEMA:
        raise LockError(
            "lock-too-new",
            f"{file} was made by a newer torchbuild",
            why=(f"seen schema {schema}", f"wanted at most {LOCK_SCHEMA}"),
            fix="Install a newer torchbuild, or make the lock anew with `torchbuild lock`.",
        )
    try:
        return Lock.model_validate(_with_none(frozen_value(table)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _unreadable(file, f"{where}: {first['msg']}") from error


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
