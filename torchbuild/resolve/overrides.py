"""``--set KEY=VALUE``: one key of a recipe from the command line."""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

from torchbuild.errors import RecipeError

__all__ = ["OVERRIDE_FILE", "Override", "parse_override"]

OVERRIDE_FILE = "--set"
"""What stands for the file in problems."""
_LONGEST_KEY = 200
_EXAMPLE = "Write it as --set python.version=3.12, --set build.flags.USE_CUDA=false or --set machine.jobs=2."


class Override(NamedTuple):
    """One key and its value."""

    path: tuple[str, ...]
    """The key's parts."""
    value: Any
    """As TOML; the text itself where that is not TOML."""
    text: str
    """As it was typed."""

    @property
    def dotted(self) -> str:
        """The key."""
        return ".".join(self.path)

    def table(self, *, as_text: bool = False) -> dict[str, Any]:
        """The table that is laid over the recipe."""
        *outer, last = self.path
        table: dict[str, Any] = {last: self.text if as_text else self.value}
        for part in reversed(outer):
            table = {part: table}
        return table


def parse_override(text: str) -> Override:
    """The override, or RecipeError(override-invalid)."""
    key, equals, value = text.partition("=")
    path = _path(key) if equals else ()
    if not path:
        raise RecipeError("override-invalid", f"--set {text!r} is not KEY=VALUE", fix=_EXAMPLE)
    if path == ("extends",):
        raise RecipeError(
            "override-invalid",
            "--set extends: what a recipe refines cannot be changed from outside",
            fix="Write a recipe that extends the other one.",
        )
    return Override(path=path, value=_value(key, value), text=value.strip())


def _path(key: str) -> tuple[str, ...]:
    """The parts of a dotted key; empty where it is none."""
    if not key.isprintable() or len(key) > _LONGEST_KEY:
        return ()
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except (ValueError, RecursionError):
        return ()
    path: list[str] = []
    while isinstance(table, dict) and len(table) == 1:
        ((part, table),) = table.items()
        path.append(part)
    return tuple(path)


def _value(key: str, text: str) -> Any:  # noqa: ANN401  any TOML value
    """What is no TOML is text; what begins like a string, a list or a table must be one."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if text.strip()[:1] in {'"', "'", "[", "{"}:
            raise RecipeError(
                "override-invalid",
                f"--set {key.strip()}: the value is not TOML",
                why=(f"seen {text.strip()[:60]}", str(error) or type(error).__name__),
                fix="Close what the value opens; in a shell, put single quotes around the whole.",
            ) from error
        return text.strip()
    return table["value"] if list(table) == ["value"] else text.strip()
