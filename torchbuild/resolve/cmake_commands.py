"""The commands of CMake that decide what is in a cache: variables, options, lists, texts, policies.

Each takes its place (file, and whether it is in doubt), the call and the scope. What is not followed spoils
the variables that it names: from then on nobody knows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from torchbuild.knowledge.tables import cmake_fact
from torchbuild.resolve.cmake_blocks import Call
from torchbuild.resolve.cmake_condition import holds
from torchbuild.resolve.cmake_scope import LONGEST, CacheEntry, Scope, Value, expand

__all__ = ["COMMANDS", "HARMLESS", "Fetch", "Place", "assign", "declare", "joined", "spoil"]

HARMLESS = (
    "add_custom_", "add_compile_", "add_definitions", "add_dependencies", "add_executable", "add_library",
    "add_link_", "add_test", "configure_file", "enable_", "export", "include_directories", "include_guard",
    "install", "link_", "mark_as_advanced", "message", "remove_definitions", "set_source_files_properties",
    "set_target_properties", "set_tests_properties", "source_group", "target_",
)  # fmt: skip
"""Beginnings of commands that write no variable."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RELEASES = re.compile(r"(\d+)\.(\d+)(?:\.\d+)*(?:\.\.\.(\d+)\.(\d+)(?:\.\d+)*)?")
_WRITERS = ("execute_process", "file", "get_", "list", "math", "string", "try_", "cmake_path", "separate_")
"""Beginnings of commands that write a variable, hidden behind an option of that name or not."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A command that fetches something while a tree is configured or built."""

    url: str
    """From where; empty where nobody can say."""
    into: str
    """The directory that it fills, where the tree says so."""
    where: str
    """``FILE:LINE``."""


@dataclass(slots=True)
class Place:
    """Where a command stands."""

    file: str = ""
    """Path in the tree."""
    maybe: int = 0
    """How many conditions around it are unknown."""
    fetches: list[Fetch] = field(default_factory=list)
    """What was met on the way that fetches something."""


def spoil(call: Call, scope: Scope) -> None:
    """A command that we do not follow may write any variable that it names."""
    facts = cmake_fact()
    fixed = facts.variables.keys() | set(facts.unset)
    is_writer = call.name.startswith(_WRITERS)
    for item in call.arguments:
        is_named = item.kind == "RAW" or (item.kind == "QUOTED" and is_writer)
        is_free = item.text not in fixed and (is_writer or item.text not in scope.cache)
        if is_named and is_free and _NAME.fullmatch(item.text):
            scope.variables[item.text] = None


def joined(words: list[Value]) -> Value:
    """A list as CMake keeps it; unknown where one of them is, or where it is too long."""
    known = [word for word in words if word is not None]
    return ";".join(known) if len(known) == len(words) and sum(map(len, known)) <= LONGEST else None


def assign(place: Place, name: str, value: Value, scope: Scope) -> None:
    """Set an ordinary variable; in doubt, only what it had before is still known."""
    if place.maybe and scope.look(name) != value:
        value = None
    scope.variables[name] = value


def declare(  # noqa: PLR0917  what an entry is made of
    place: Place, name: str, value: Value, kind: str, call: Call, scope: Scope, *, force: bool = False
) -> None:
    """What is in the cache already keeps its value, unless it is surely overwritten."""
    entry, where = scope.cache.get(name), f"{place.file}:{call.line}"
    if entry is None:
        scope.cache[name] = CacheEntry(value, kind, where, is_certain=not place.maybe)
    elif force and not place.maybe:
        scope.cache[name] = CacheEntry(value, kind, where)
    else:
        kind = kind if entry.type == "UNINITIALIZED" else entry.type
        certain = entry.is_certain or not place.maybe
        # declared in one of several branches, and nobody knows in which
        known = entry.value if entry.is_certain or entry.value == value else None
        scope.cache[name] = CacheEntry(known, kind, entry.where or where, certain)


def _set(place: Place, call: Call, scope: Scope) -> None:
    words = [expand(item, scope) for item in call.arguments]
    raw = [item.text if item.kind == "RAW" else "" for item in call.arguments]
    name = words[0] if words else None
    if name is None:
        return
    if name.startswith("ENV{"):
        _set_environment(place, name[4:-1], words[1:2], scope)
    elif "CACHE" in raw[1:]:
        at = raw.index("CACHE", 1)
        kind = raw[at + 1] if len(raw) > at + 1 else "STRING"
        is_new = name not in scope.cache
        declare(place, name, joined(words[1:at]), kind, call, scope, force="FORCE" in raw[at:])
        if not place.maybe and scope.release < cmake_fact().release("CMP0126") and (is_new or "FORCE" in raw):
            scope.variables.pop(name, None)
    else:
        _set_variable(place, words, raw, scope)


def _set_environment(place: Place, name: str, value: list[Value], scope: Scope) -> None:
    scope.environ[name] = None if place.maybe else (value[0] if value else "")


def _set_variable(place: Place, words: list[Value], raw: list[str], scope: Scope) -> None:
    target = scope
    if raw[-1:] == ["PARENT_SCOPE"] and scope.outer is not None:
        target, words = scope.outer, words[:-1]
    assign(place, words[0] or "", joined(words[1:]) if len(words) > 1 else "", target)
    if len(words) == 1 and not place.maybe:
        target.variables.pop(words[0] or "", None)


def _unset(place: Place, call: Call, scope: Scope) -> None:
    name = expand(call.arguments[0], scope) if call.arguments else None
    if name is None or place.maybe:
        return
    if name.startswith("ENV{"):
        scope.environ.pop(name[4:-1], None)
        return
    if any(item.text == "CACHE" for item in call.arguments[1:]):
        scope.cache.pop(name, None)
    else:
        scope.variables.pop(name, None)


def _option(place: Place, call: Call, scope: Scope) -> None:
    """Nothing where an ordinary variable has that name already, by the policy of the day."""
    words = [expand(item, scope) for item in call.arguments]
    name = words[0] if words else None
    if name is None:
        return
    if name in scope.variables and not scope.hides_options and not place.maybe:
        del scope.variables[name]  # an old policy lets the option win
    if scope.variables.get(name) is None or not scope.hides_options:
        value = words[2] if len(words) > 2 else "OFF"  # noqa: PLR2004
        declare(_doubted(place, name, scope), name, value, "BOOL", call, scope)


def _doubted(place: Place, name: str, scope: Scope) -> Place:
    """The place of an option; in doubt where a variable that may hide it is only perhaps there."""
    return Place(place.file, place.maybe + (name in scope.variables and scope.hides_options))


def _dependent_option(place: Place, call: Call, scope: Scope) -> None:
    if len(call.arguments) < 5:  # noqa: PLR2004  the command's own count
        return
    name, _, value, depends, forced = (expand(item, scope) for item in call.arguments[:5])
    if name is None:
        return
    answer = _all_hold(depends, scope)
    if answer is False:
        if name in scope.cache:
            scope.cache[name] = CacheEntry(
                scope.cache[name].value, "INTERNAL", f"{place.file}:{call.line}", is_certain=not place.maybe
            )
        assign(place, name, forced, scope)
        return
    if scope.variables.get(name) is None or not scope.hides_options:
        doubt = _doubted(place, name, scope)
        doubt.maybe += answer is None
        declare(doubt, name, value, "BOOL", call, scope)


def _all_hold(depends: Value, scope: Scope) -> bool | None:
    """Each of a list of conditions."""
    if depends is None:
        return None
    if "(" in depends and scope.release < cmake_fact().release("CMP0127"):
        return None  # an old policy takes such a condition apart in its own way
    answers = [holds(condition, scope) for condition in depends.split(";")]
    return False if False in answers else (None if None in answers else True)


def _set_property(place: Place, call: Call, scope: Scope) -> None:
    """Only that of a cache entry's value counts."""
    words = [expand(item, scope) for item in call.arguments]
    if words[:1] != ["CACHE"] or "PROPERTY" not in words:
        return
    at = words.index("PROPERTY")
    for name in words[1:at]:
        if name in scope.cache and words[at + 1 : at + 2] == ["VALUE"] and name is not None:
            known = joined(words[at + 2 :]) if not place.maybe else None
            entry = scope.cache[name]
            scope.cache[name] = CacheEntry(known, entry.type, f"{place.file}:{call.line}", entry.is_certain)


def _list(place: Place, call: Call, scope: Scope) -> None:
    words = [expand(item, scope) for item in call.arguments]
    if len(words) < 2 or words[0] not in ("APPEND", "PREPEND") or words[1] is None:  # noqa: PLR2004  verb and name
        spoil(call, scope)
        return
    held = scope.look(words[1])
    old = [held] if held != "" else []
    parts = old + words[2:] if words[0] == "APPEND" else words[2:] + old
    assign(place, words[1], joined(parts), scope)


_TEXTS: Mapping[str, Callable[[str], str]] = {"TOUPPER": str.upper, "TOLOWER": str.lower, "STRIP": str.strip}


def _string(place: Place, call: Call, scope: Scope) -> None:
    words = [expand(item, scope) for item in call.arguments]
    verb = words[0] if words else None
    if verb is not None and verb in _TEXTS and len(words) == 3 and words[2] is not None:  # noqa: PLR2004  verb, text and name
        assign(place, words[2], None if words[1] is None else _TEXTS[verb](words[1]), scope)
    elif verb in ("APPEND", "CONCAT") and len(words) > 1 and words[1] is not None:
        parts = ([scope.look(words[1])] if verb == "APPEND" else []) + words[2:]
        known = [part for part in parts if part is not None]
        text = "".join(known) if len(known) == len(parts) else None
        assign(place, words[1], text if text is None or len(text) <= LONGEST else None, scope)
    else:
        spoil(call, scope)


def _project(_place: Place, call: Call, scope: Scope) -> None:
    """From here on the project's folder and name are these."""
    name = expand(call.arguments[0], scope) if call.arguments else None
    is_top = "CMAKE_PROJECT_NAME" not in scope.variables
    scope.variables |= {
        "PROJECT_NAME": name,
        "PROJECT_SOURCE_DIR": scope.look("CMAKE_CURRENT_SOURCE_DIR"),
        "PROJECT_BINARY_DIR": scope.look("CMAKE_CURRENT_BINARY_DIR"),
        "PROJECT_IS_TOP_LEVEL": "ON" if is_top else "OFF",
    }
    if is_top:
        scope.variables["CMAKE_PROJECT_NAME"] = name


def _minimum(place: Place, call: Call, scope: Scope) -> None:
    """Which policies hold: those of the highest release that the tree was tried with."""
    words = [expand(item, scope) or "" for item in call.arguments]
    found = _RELEASES.fullmatch(words[1] if len(words) > 1 else "")
    if found is None or place.maybe:
        return
    highest = (found[3], found[4]) if found[3] else (found[1], found[2])
    scope.release = (int(highest[0]), int(highest[1]))
    by_default = scope.look("CMAKE_POLICY_DEFAULT_CMP0077") == "NEW"
    scope.hides_options = by_default or scope.release >= cmake_fact().release("CMP0077")


def _policy(place: Place, call: Call, scope: Scope) -> None:
    words = [expand(item, scope) or "" for item in call.arguments]
    if words[:2] == ["SET", "CMP0077"] and not place.maybe:
        scope.hides_options = words[2:3] == ["NEW"]
    elif words[:1] == ["VERSION"]:
        _minimum(place, call, scope)


_FROM = ("GIT_REPOSITORY", "URL", "HG_REPOSITORY", "SVN_REPOSITORY")


def _fetch(place: Place, call: Call, scope: Scope) -> None:
    """``FetchContent_Declare``, ``ExternalProject_Add``: noted, and not followed."""
    words = [expand(item, scope) for item in call.arguments]
    given = dict(pairwise(words))
    named = [word for word in _FROM if word in words]
    if named:
        into = given.get("SOURCE_DIR") or ""
        place.fetches.append(Fetch(given.get(named[0]) or "", into, f"{place.file}:{call.line}"))
    spoil(call, scope)


def _file(place: Place, call: Call, scope: Scope) -> None:
    """Only ``file(DOWNLOAD URL …)`` is of interest."""
    words = [expand(item, scope) for item in call.arguments[:2]]
    if words[:1] == ["DOWNLOAD"] and len(words) > 1:
        place.fetches.append(Fetch(words[1] or "", "", f"{place.file}:{call.line}"))
    spoil(call, scope)


def _parse_arguments(_place: Place, call: Call, scope: Scope) -> None:
    """``cmake_parse_arguments(PREFIX …)``: what a caller gave is not followed."""
    words = [expand(item, scope) or "" for item in call.arguments]
    prefix = words[2:3] if words[:1] == ["PARSE_ARGV"] else words[:1]
    scope.searched |= {f"{name}_" for name in prefix if name}


COMMANDS: Mapping[str, Callable[[Place, Call, Scope], None]] = {
    "cmake_dependent_option": _dependent_option,
    "cmake_minimum_required": _minimum,
    "cmake_parse_arguments": _parse_arguments,
    "cmake_policy": _policy,
    "externalproject_add": _fetch,
    "fetchcontent_declare": _fetch,
    "file": _file,
    "list": _list,
    "option": _option,
    "project": _project,
    "set": _set,
    "set_property": _set_property,
    "string": _string,
    "unset": _unset,
}
"""Commands that are followed, by their name."""
