"""What is asked of the tree: no gifts of chance, preset, the tables, then the recipe's own flags."""

from __future__ import annotations

import re
from collections.abc import Collection

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import FoundOption, Preset, official_cuda, option_facts
from torchbuild.knowledge.tables import preset as preset_row
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.switches import Wishes
from torchbuild.toolchains.wished import table_flags

__all__ = ["definitions", "flags", "linker_flags", "preset_environment", "switch_state"]

_SWITCH = re.compile(r"(USE|BUILD)_[A-Z0-9_]+")
_ON = {"ON", "1", "TRUE", "YES", "Y"}
_OFF = {"OFF", "0", "FALSE", "NO", "N"}


def flags(recipe: Recipe, declared: Collection[str] = ()) -> Wishes:
    """Each flag's value and who wants it; the recipe wins over its preset, and both over chance.

    Args:
        recipe: what is asked for.
        declared: options of the tree; what it would build because the machine happens to have it is off.

    Raises:
        ConflictError: ``preset-unknown-release``.
    """
    result: Wishes = {}
    for item in option_facts().found:
        if item.name in declared and not _is_asked(recipe, item):
            result[item.name] = ("OFF", "nothing: the recipe does not ask for it")
    facts = _preset(recipe)
    if facts is not None:
        why = f"build.preset {recipe.build.preset}"
        result |= dict.fromkeys(facts.off, ("OFF", why)) | dict.fromkeys(facts.on, ("ON", why))
    result |= table_flags(recipe, declared)
    for name, value in recipe.build.flags.items():
        result[name] = (_flag_text(value), f"build.flags.{name}")
    return dict(sorted(result.items()))


def _is_asked(recipe: Recipe, item: FoundOption) -> bool:
    """Whether a table asks for it, or the tree has no reason to look."""
    has_reason = not item.among or getattr(recipe, item.among) is not None
    return not has_reason or bool(item.unless and getattr(recipe, item.unless) is not None)


def preset_environment(recipe: Recipe) -> dict[str, str]:
    """Further variables that the preset sets."""
    facts = _preset(recipe)
    if facts is None:
        return {}
    is_official = recipe.build.preset == "official"
    cuda = recipe.cuda.version if is_official and recipe.cuda else ""
    with_cuda = official_cuda(recipe.wheel.version, cuda) if cuda else None
    return dict(facts.env) | (dict(with_cuda.env) if with_cuda else {})


def _preset(recipe: Recipe) -> Preset | None:
    name, release = recipe.build.preset, recipe.wheel.version
    if name == "none":
        return None
    row = preset_row(name, release)
    if row is None:
        raise ConflictError(
            "preset-unknown-release",
            f"nobody knows what the preset {name} is for {release}",
            why="seen no row for this release in knowledge/data/presets.toml",
            fix='Set build.preset = "none" and name the flags.',
        )
    return row


def definitions(recipe: Recipe) -> Wishes:
    """Further ``-D`` definitions with who wants them."""
    return {
        name: (_flag_text(value), f"build.cmake.{name}") for name, value in sorted(recipe.build.cmake.items())
    }


def _flag_text(value: bool | int | str) -> str:  # noqa: FBT001  a TOML value
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def linker_flags(recipe: Recipe) -> str:
    """What LDFLAGS is in the build: the linker first, then what the recipe says."""
    chosen = "" if recipe.toolchain.linker == "default" else f"-fuse-ld={recipe.toolchain.linker}"
    return " ".join(part for part in (chosen, recipe.build.env.get("LDFLAGS", "")) if part)


def switch_state(name: str, value: str, raw: object) -> str:
    """``ON`` or ``OFF`` for what is asked for as a switch, else empty.

    Args:
        name: the flag's.
        value: its text.
        raw: as the recipe has it; a TOML boolean is a switch whatever its name.
    """
    if not isinstance(raw, bool) and not _SWITCH.fullmatch(name):
        return ""
    return "ON" if value.upper() in _ON else "OFF" if value.upper() in _OFF else ""
