"""Every option that a tree declares, with the value that it must have after configure: no third state."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import EraFact, option_facts
from torchbuild.model.lock import Expectation
from torchbuild.resolve.cmake_condition import holds
from torchbuild.resolve.cmake_scope import CacheEntry, Scope
from torchbuild.resolve.cmake_script import Followed, follow
from torchbuild.resolve.switches import Wishes
from torchbuild.shim.cache import is_true

__all__ = ["Tree", "front_end_definitions", "is_declared"]

_OPTION = re.compile(r"(USE|BUILD)_\w+")


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree's CMake files, and what decides their options."""

    files: Mapping[str, str]
    """Text by path in the tree."""
    era: EraFact
    """How the front end hands things over."""
    machine: str
    """The processor."""

    def followed(self, environ: Mapping[str, str], defines: Mapping[str, str]) -> Followed:
        """What is known of this tree in a build with these variables and definitions."""
        handed = dict(self.era.hands)
        handed |= {name: value for name, value in environ.items() if self.era.reaches(name)}
        # a real definition is there before the environment is looked at
        handed |= front_end_definitions(self.files.get("pyproject.toml", ""))
        asked = {self.era.renames.get(name, name): value for name, value in handed.items()} | dict(defines)
        return follow(self.files.get, asked=asked, environ=environ, machine=self.machine)

    def declared(self, environ: Mapping[str, str], defines: Mapping[str, str]) -> frozenset[str]:
        """Names of the options that it may declare."""
        found = self.followed(environ, defines).cache
        return frozenset(name for name, entry in found.items() if entry.where and _OPTION.fullmatch(name))

    def expect(self, cache: Mapping[str, CacheEntry], wishes: Wishes) -> Iterator[Expectation]:
        """One row an option that nobody else names; then the two that leave no third state.

        Raises:
            ConflictError: ``flag-has-no-effect``, ``flag-unknown``.
        """
        if (
            "CMakeLists.txt" not in self.files
        ):  # a front end of another kind: the gate sees what was asked for
            return
        self._require_effect(cache, wishes)
        settled = _settled(cache)
        asked = {self.era.renames.get(wish, wish) for wish in wishes}
        for name, entry in sorted(cache.items()):
            if name in asked or not (_OPTION.fullmatch(name) or (entry.where and entry.type == "BOOL")):
                continue
            value, why = settled.get(name) or _effective(entry)
            if value:
                yield _row("gate-option", name, "option" if is_declared(entry) else "switch", value, why)
        yield _row("gate-unexpected", _OPTION.pattern, "only", "", "no third state")
        benign = "|".join(item.names for item in option_facts().benign)
        yield _row("gate-notfound", r".*", "found", benign, "no third state")

    def _require_effect(self, cache: Mapping[str, CacheEntry], wishes: Wishes) -> None:
        """What the recipe itself asks to be on is an option of the tree, and in force."""
        for name, (value, why) in wishes.items():
            if value != "ON" or not why.startswith("build.flags.") or name in self.era.front_end_only:
                continue
            entry = cache.get(self.era.renames.get(name, name))
            if entry is not None and entry.type == "INTERNAL" and entry.is_certain:
                raise _without_effect(name, why, entry)
            if entry is None or (not entry.where and not self._names(name)):
                raise _unknown(name, why, cache)

    def _names(self, option: str) -> bool:
        """Whether any file has the word: it may be declared in a way that is not followed."""
        word = re.compile(rf"\b{re.escape(option)}\b")
        return any(word.search(text) for text in self.files.values())


def is_declared(entry: CacheEntry) -> bool:
    """Whether the cache will surely have it as an option in force: one that is hidden is wrong then."""
    return bool(entry.where) and entry.is_certain and entry.type == "BOOL"


def front_end_definitions(pyproject: str) -> dict[str, str]:
    """What ``[tool.scikit-build]`` of a tree defines for CMake, but for what depends on the environment."""
    try:
        table: Any = tomllib.loads(pyproject)["tool"]["scikit-build"]["cmake"]["define"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(table, dict):
        return {}
    return {str(name): str(value) for name, value in table.items() if isinstance(value, (str, bool, int))}


def _effective(entry: CacheEntry) -> tuple[str, str]:
    """Value and reason; an empty value where nobody can say."""
    why = f"{entry.where or 'the front end'}: " + ("declared" if entry.is_certain else "declared if needed")
    if entry.type in ("INTERNAL", "STATIC"):
        # in doubt it may be declared in another branch, and in force then
        return ("OFF" if entry.is_certain else ""), f"{entry.where}: not in force"
    if entry.value is None:
        return "", why
    state = "ON" if is_true(entry.value) else "OFF"
    # an option that may not be declared is OFF then: only OFF is the same both ways
    return (state if entry.is_certain or state == "OFF" else ""), f"{why} {state}"


def _settled(cache: Mapping[str, CacheEntry]) -> dict[str, tuple[str, str]]:
    """Options that the tree changes after it looked at the machine, where their condition holds."""
    scope = Scope(dict(cache), {})
    return {
        item.name: (item.value, f"knowledge: {item.when}")
        for item in option_facts().settled
        if item.name in cache and holds(item.when, scope)
    }


def _row(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )


def _without_effect(name: str, why: str, entry: CacheEntry) -> ConflictError:
    return ConflictError(
        "flag-has-no-effect",
        f"{name} is asked for, and the tree will not have it",
        why=(f"seen at {entry.where}: what {name} depends on is not on", f"wanted by {why}"),
        fix=f"Set what {name} depends on to true, or leave {name} out of build.flags.",
    )


def _unknown(name: str, why: str, cache: Mapping[str, CacheEntry]) -> ConflictError:
    known = [other for other, entry in cache.items() if entry.where and _OPTION.fullmatch(other)]
    near = difflib.get_close_matches(name, known, n=3)
    return ConflictError(
        "flag-unknown",
        f"{name} is asked for, and the tree has no such option",
        why=(f"wanted by {why}", f"nearest: {', '.join(near)}" if near else f"seen {len(known)} options"),
        fix=f"Correct the name {name} in build.flags, or leave it out.",
    )
