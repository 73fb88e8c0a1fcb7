"""What a tree's CMake files will leave in the cache, as far as it can be known before CMake runs.

The files are followed the way CMake follows them, with three answers to every condition. What is looked for
on the machine (packages, libraries, programs) is unknown; where a condition is unknown, both ways are
followed, and what is already in the cache stays: what is asked for is expected to be found.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torchbuild.knowledge.tables import cmake_fact
from torchbuild.model.command import BUILD_ROOT
from torchbuild.resolve.cmake_blocks import (
    Argument,
    Block,
    Call,
    Choice,
    Definition,
    Loop,
    Room,
    read_script,
)
from torchbuild.resolve.cmake_commands import COMMANDS, HARMLESS, Fetch, Place, declare, joined, spoil
from torchbuild.resolve.cmake_condition import judge
from torchbuild.resolve.cmake_scope import LONGEST, CacheEntry, Scope, Value, expand

__all__ = ["SOURCE", "Followed", "follow"]

SOURCE = f"{BUILD_ROOT}/source"
_UNKNOWN = "TORCHBUILD_UNKNOWN"
"""A variable whose value nobody knows."""
_DEEPEST = 40
_MOST_CALLS = 200_000
_MOST_TURNS = 1000


class _LeftError(Exception):
    """``return``, ``break`` or ``continue``: ends a file or function, a loop, a turn of one."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


@dataclass(frozen=True, slots=True)
class Followed:
    """What is known of a tree before CMake runs."""

    cache: dict[str, CacheEntry]
    """The entries that it will have."""
    fetches: tuple[Fetch, ...]
    """What it may fetch by itself."""


def follow(
    read: Callable[[str], str | None],
    *,
    asked: Mapping[str, str],
    environ: Mapping[str, str],
    machine: str,
) -> Followed:
    """The cache that the tree will have: each entry that it declares, and each that it is handed.

    Args:
        read: the text of a file of the tree, by its path in it; None where there is none.
        asked: definitions that CMake is handed.
        environ: the build's whole environment.
        machine: the processor, as ``CMAKE_SYSTEM_PROCESSOR`` has it.
    """
    facts = cmake_fact()
    places = ("CMAKE_SOURCE_DIR", "CMAKE_CURRENT_SOURCE_DIR", "PROJECT_SOURCE_DIR")
    variables: dict[str, Value] = dict(facts.variables)
    variables |= dict.fromkeys((*facts.unknown, _UNKNOWN), None) | dict.fromkeys(places, SOURCE)
    builds = ("CMAKE_BINARY_DIR", "CMAKE_CURRENT_BINARY_DIR", "PROJECT_BINARY_DIR")
    variables |= dict.fromkeys(builds, f"{SOURCE}/build") | {"CMAKE_SYSTEM_PROCESSOR": machine}
    cache = {name: CacheEntry(value, "UNINITIALIZED", "") for name, value in asked.items()}
    walk = _Walk(read)
    walk.run_file("CMakeLists.txt", Scope(cache, dict(environ), variables))
    if walk.calls > _MOST_CALLS:  # what was not followed may have changed any of them
        cache = {
            name: CacheEntry(None if entry.where else entry.value, entry.type, entry.where, is_certain=False)
            for name, entry in cache.items()
        }
    return Followed(cache, tuple(dict.fromkeys(walk.place.fetches)))


@dataclass(slots=True)
class _Walk:
    """One pass over the files of a tree."""

    read: Callable[[str], str | None]
    place: Place = field(default_factory=Place)
    calls: int = 0
    depth: int = 0
    definitions: dict[str, Definition] = field(default_factory=dict)

    def run_file(self, path: str, scope: Scope) -> bool:
        """Follow one file of the tree; whether it could be read."""
        if self.depth >= _DEEPEST:
            _open(scope)
            return False
        text = self.read(path)
        blocks = None if text is None else read_script(text)
        if blocks is None:
            return False
        before, self.place.file, self.depth = self.place.file, path, self.depth + 1
        hidden = scope.variables.get("CMAKE_CURRENT_LIST_DIR", "")
        scope.variables["CMAKE_CURRENT_LIST_DIR"] = posixpath.dirname(f"{SOURCE}/{path}")
        try:
            self.run(blocks, scope)
        except _LeftError:
            pass
        finally:
            self.place.file, self.depth = before, self.depth - 1
            scope.variables["CMAKE_CURRENT_LIST_DIR"] = hidden
        return True

    def run(self, blocks: tuple[Block, ...], scope: Scope) -> None:
        """Follow blocks in order."""
        for block in blocks:
            self.calls += 1
            if self.calls > _MOST_CALLS:
                return
            match block:
                case Call():
                    self._call(block, scope)
                case Choice():
                    self._choice(block, scope)
                case Loop():
                    self._loop(block, scope)
                case Room():
                    self._room(block, scope)
                case Definition():
                    self.definitions[block.name] = block

    def _choice(self, choice: Choice, scope: Scope) -> None:
        """Follow what is true; from the first unknown condition on, all that may be."""
        for index, (condition, body) in enumerate(choice.branches):
            answer = True if condition is None else judge(condition, scope)
            if answer:
                self.run(body, scope)
                return
            if answer is None:
                for other, rest in choice.branches[index:]:
                    if other is None or judge(other, scope) is not False:
                        self._doubtful(rest, scope)
                return

    def _doubtful(self, body: tuple[Block, ...], scope: Scope) -> None:
        self.place.maybe += 1
        try:
            self.run(body, scope)
        except _LeftError:  # whether it leaves here is as unknown as the condition
            pass
        finally:
            self.place.maybe -= 1

    def _loop(self, loop: Loop, scope: Scope) -> None:
        """Turn by turn where what it goes over is known."""
        name = loop.arguments[0].text if loop.arguments else ""
        turns = _turns(loop, scope)
        if turns is None:
            scope.variables[name] = None
            self._doubtful(loop.body, scope)
            return
        hidden = scope.variables.get(name, "")
        for turn in turns:
            scope.variables[name] = turn
            try:
                self.run(loop.body, scope)
            except _LeftError as left:
                if left.how == "return":
                    raise
                if left.how == "break":
                    break
        scope.variables[name] = hidden
        if hidden == "":
            scope.variables.pop(name, None)

    def _room(self, room: Room, scope: Scope) -> None:
        words = [expand(item, scope) for item in room.arguments]
        inner = scope.inner()
        self.run(room.body, inner)
        if "SCOPE_FOR" in words and "VARIABLES" not in words:
            scope.variables = inner.variables
        elif "PROPAGATE" in words:
            for name in words[words.index("PROPAGATE") + 1 :]:
                if name is not None:
                    scope.variables[name] = inner.look(name)

    def _call(self, call: Call, scope: Scope) -> None:
        if call.name in _OF_WALK:
            _OF_WALK[call.name](self, call, scope)
        elif call.name in COMMANDS:
            COMMANDS[call.name](self.place, call, scope)
        elif call.name in self.definitions:
            self._defined(self.definitions[call.name], call, scope)
        elif not call.name.startswith(HARMLESS):
            spoil(call, scope)

    def _defined(self, definition: Definition, call: Call, scope: Scope) -> None:
        """A function has a scope of its own; a macro puts texts into its body."""
        if self.depth >= _DEEPEST:
            _open(scope)
            return
        words = [expand(item, scope) for item in call.arguments]
        given = dict(zip(definition.parameters, words, strict=False)) | _further(definition, words)
        self.depth += 1
        try:
            if definition.is_macro:
                self.run(_put_in(definition.body, given), scope)
            else:
                inner = scope.inner()
                inner.variables.update(given)
                self.run(definition.body, inner)
        except _LeftError:
            if definition.is_macro:
                raise
        finally:
            self.depth -= 1

    def include(self, call: Call, scope: Scope) -> None:
        """``include(FILE)`` of the tree, or a module of its own; of CMake's, what a table tells."""
        text = expand(call.arguments[0], scope) if call.arguments else None
        if text in cmake_fact().modules:
            for name, value in cmake_fact().modules[text].items():
                if name not in scope.variables:
                    declare(self.place, name, value, "BOOL", call, scope)
            return
        if text is not None and self._run_one(self._candidates(text, scope), scope):
            return
        if text is None or ("/" in text and not _is_optional(call)):
            _open(scope)

    def _run_one(self, paths: list[str], scope: Scope) -> bool:
        return any(self.run_file(path, scope) for path in paths if self.read(path) is not None)

    def _candidates(self, text: str, scope: Scope) -> list[str]:
        """Where a file or a module of this name may lie in the tree, the first that is there counts."""
        if text.endswith(".cmake") or "/" in text:
            paths = [_inside(text, scope)]
        else:
            folders = (scope.look("CMAKE_MODULE_PATH") or "").split(";")
            named = [_inside(posixpath.join(folder, f"{text}.cmake"), scope) for folder in folders if folder]
            paths = [
                *named,
                *([f"cmake/{text}.cmake", f"cmake/Modules/{text}.cmake"] if _is_vague(scope) else []),
            ]
        return [path for path in paths if path is not None]

    def subdirectory(self, call: Call, scope: Scope) -> None:
        """``add_subdirectory(FOLDER)``: a scope of its own, and the same cache."""
        text = expand(call.arguments[0], scope) if call.arguments else None
        path = None if text is None else _inside(text, scope)
        if path is not None:
            inner = scope.inner()
            inner.variables["CMAKE_CURRENT_SOURCE_DIR"] = f"{SOURCE}/{path}"
            inner.variables["CMAKE_CURRENT_BINARY_DIR"] = None
            self.run_file(f"{path}/CMakeLists.txt", inner)

    def package(self, call: Call, scope: Scope) -> None:
        """``find_package(NAME)``: nobody knows what is found; a module of the tree's own is followed."""
        name = (expand(call.arguments[0], scope) or "") if call.arguments else ""
        scope.searched |= {f"{beginning}_" for beginning in (name, name.upper()) if beginning}
        self._run_one(self._candidates(f"Find{name}", scope), scope)
        spoil(call, scope)

    def leave(self, call: Call, _scope: Scope) -> None:
        """``return()``, ``break()``, ``continue()``."""
        raise _LeftError(call.name)


_OF_WALK: Mapping[str, Callable[[_Walk, Call, Scope], None]] = {
    "add_subdirectory": _Walk.subdirectory,
    "break": _Walk.leave,
    "continue": _Walk.leave,
    "find_package": _Walk.package,
    "include": _Walk.include,
    "return": _Walk.leave,
}


def _open(scope: Scope) -> None:
    """Something was run that nobody could read: it may have set any variable, but for those of the place."""
    facts = cmake_fact()
    fixed = facts.variables.keys() | set(facts.unset)
    kept = [name for name in scope.variables if name in fixed or name.endswith(("_DIR", "_NAME"))]
    scope.variables = dict.fromkeys(scope.variables, None) | {name: scope.variables[name] for name in kept}
    scope.is_open = True


def _is_optional(call: Call) -> bool:
    return any(item.text in ("OPTIONAL", "RESULT_VARIABLE") for item in call.arguments)


def _is_vague(scope: Scope) -> bool:
    """Whether the tree's own folder of modules may be meant: its list is unknown."""
    return scope.look("CMAKE_MODULE_PATH") is None


def _inside(text: str, scope: Scope) -> str | None:
    """A path, relative to the tree; None where it is elsewhere."""
    base = scope.look("CMAKE_CURRENT_SOURCE_DIR") or SOURCE
    path = posixpath.normpath(posixpath.join(base, text))
    return path.removeprefix(f"{SOURCE}/") if path.startswith(f"{SOURCE}/") else None


def _turns(loop: Loop, scope: Scope) -> list[str] | None:
    """What a ``foreach`` goes over; None where that is unknown, or too much."""
    words = [expand(item, scope) for item in loop.arguments[1:]]
    if not loop.is_counted or any(word is None for word in words):
        return None
    known: list[str] = [word for word in words if word is not None]
    if known[:1] == ["RANGE"] or "ZIP_LISTS" in known:
        return None
    if known[:1] == ["IN"]:
        held = [scope.look(word) if kind == "LISTS" else word for kind, word in _kinds(known[1:])]
        known = [word for word in held if word is not None]
        if len(known) != len(held):
            return None
    turns = [part for word in known for part in word.split(";") if part]
    return turns if len(turns) <= _MOST_TURNS else None


def _kinds(words: list[str]) -> list[tuple[str, str]]:
    """Each word with LISTS or ITEMS, whichever stands before it."""
    kind, found = "ITEMS", []
    for word in words:
        if word in ("LISTS", "ITEMS"):
            kind = word
        else:
            found.append((kind, word))
    return found


def _further(definition: Definition, words: list[Value]) -> dict[str, Value]:
    """What every function has besides its own parameters."""
    rest = words[len(definition.parameters) :]
    numbered = {f"ARGV{number}": word for number, word in enumerate(words)}
    return {"ARGC": str(len(words)), "ARGV": joined(words), "ARGN": joined(rest), **numbered}


def _put_in(body: tuple[Block, ...], given: Mapping[str, Value]) -> tuple[Block, ...]:
    """A macro's body with its parameters replaced; an unknown value becomes a reference to one."""

    def arguments(items: tuple[Argument, ...]) -> tuple[Argument, ...]:
        return tuple(Argument(_replaced(item.text, given), item.kind) for item in items)

    def block(item: Block) -> Block:
        match item:
            case Call():
                return Call(item.name, arguments(item.arguments), item.line)
            case Choice():
                return Choice(
                    tuple(
                        (None if condition is None else arguments(condition), tuple(map(block, inner)))
                        for condition, inner in item.branches
                    )
                )
            case Loop():
                return Loop(arguments(item.arguments), item.is_counted, tuple(map(block, item.body)))
            case Room():
                return Room(arguments(item.arguments), tuple(map(block, item.body)))
            case Definition():
                return item

    return tuple(map(block, body))


def _replaced(text: str, given: Mapping[str, Value]) -> str:
    for name, value in given.items():
        text = text.replace("${" + name + "}", "${" + _UNKNOWN + "}" if value is None else value)
        if len(text) > LONGEST:
            return "${" + _UNKNOWN + "}"
    return text
