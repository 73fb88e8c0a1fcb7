"""What a tree's CMake files will leave in the cache, as far as it can be known before CMake runs.

The files are followed the way CMake follows them, with three answers to every condition. What is looked for
on the machine (packages, libraries, programs) is unknown; where a condition is unknown, both ways are
followed, and what is already in the cache stays: what is asked for is expected to be found.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torchbuild.knowledge.tables import cmake_fact
from torchbuild.resolve.cmake_blocks import Argument, Block, Call, Choice, Definition, Loop, read_script
from torchbuild.resolve.cmake_condition import holds, judge
from torchbuild.resolve.cmake_scope import LONGEST, CacheEntry, Scope, Value, expand

__all__ = ["SOURCE", "follow"]

SOURCE = "/torchbuild/source"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNKNOWN = "TORCHBUILD_UNKNOWN"
"""A variable whose value nobody knows."""
_HIDES_SINCE = (3, 13)
"""The release whose policies let an ordinary variable hide an option (CMP0077)."""
_RELEASES = re.compile(r"(\d+)\.(\d+)(?:\.\d+)*(?:\.\.\.(\d+)\.(\d+)(?:\.\d+)*)?")
_DEEPEST = 40
_MOST_CALLS = 200_000
_HARMLESS = (
    "add_", "target_", "set_property", "set_target_properties", "set_source_files_properties", "install",
    "message", "mark_as_advanced", "include_directories", "link_", "cmake_", "project", "enable_", "export",
    "source_group", "configure_file",
)  # fmt: skip


class _ReturnError(Exception):
    """``return()``."""


def follow(
    read: Callable[[str], str | None],
    *,
    asked: Mapping[str, str],
    environ: Mapping[str, str],
    machine: str,
) -> dict[str, CacheEntry]:
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
    _Walk(read).run_file("CMakeLists.txt", Scope(cache, environ, variables))
    return cache


@dataclass(slots=True)
class _Walk:
    """One pass over the files of a tree."""

    read: Callable[[str], str | None]
    calls: int = 0
    depth: int = 0
    maybe: int = 0
    """How many conditions around here are unknown."""
    definitions: dict[str, Definition] = field(default_factory=dict)
    file: str = ""

    def run_file(self, path: str, scope: Scope) -> None:
        """Follow one file of the tree; what cannot be read changes nothing."""
        text = self.read(path) if self.depth < _DEEPEST else None
        blocks = None if text is None else read_script(text)
        if blocks is None:
            return
        before, self.file, self.depth = self.file, path, self.depth + 1
        here = posixpath.dirname(f"{SOURCE}/{path}")
        hidden = scope.variables.get("CMAKE_CURRENT_LIST_DIR", "")
        scope.variables["CMAKE_CURRENT_LIST_DIR"] = here
        try:
            self.run(blocks, scope)
        except _ReturnError:
            pass
        finally:
            self.file, self.depth = before, self.depth - 1
            scope.variables["CMAKE_CURRENT_LIST_DIR"] = hidden

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
                    self._doubtful(block.body, scope, (*(a.text for a in block.arguments[:1]),))
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

    def _doubtful(self, body: tuple[Block, ...], scope: Scope, names: tuple[str, ...] = ()) -> None:
        scope.variables.update(dict.fromkeys(names))
        self.maybe += 1
        try:
            self.run(body, scope)
        except _ReturnError:  # whether it returns here is as unknown as the condition
            pass
        finally:
            self.maybe -= 1

    def _call(self, call: Call, scope: Scope) -> None:
        known = _COMMANDS.get(call.name)
        if known is not None:
            known(self, call, scope)
        elif call.name in self.definitions:
            self._defined(self.definitions[call.name], call, scope)
        elif not call.name.startswith(_HARMLESS):
            _spoil(call, scope)

    def _defined(self, definition: Definition, call: Call, scope: Scope) -> None:
        """A function has a scope of its own; a macro puts texts into its body."""
        if self.depth >= _DEEPEST:
            return
        given = dict(
            zip(definition.parameters, (expand(item, scope) for item in call.arguments), strict=False)
        )
        self.depth += 1
        try:
            if definition.is_macro:
                self.run(_put_in(definition.body, given), scope)
            else:
                inner = scope.inner()
                inner.variables.update(given)
                self.run(definition.body, inner)
        except _ReturnError:
            if definition.is_macro:
                raise
        finally:
            self.depth -= 1

    def set(self, call: Call, scope: Scope) -> None:
        """``set(NAME …)``, in all its forms."""
        words = [expand(item, scope) for item in call.arguments]
        raw = [item.text if item.kind == "RAW" else "" for item in call.arguments]
        name = words[0] if words else None
        if name is None or name.startswith("ENV{"):
            return
        if "CACHE" in raw[1:]:
            at = raw.index("CACHE", 1)
            kind = raw[at + 1] if len(raw) > at + 1 else "STRING"
            self._declare(name, _joined(words[1:at]), kind, call, scope, force="FORCE" in raw[at:])
            return
        target = scope
        if raw[-1:] == ["PARENT_SCOPE"] and scope.outer is not None:
            target, words = scope.outer, words[:-1]
        self._assign(name, _joined(words[1:]) if len(words) > 1 else "", target)
        if len(words) == 1 and not self.maybe:
            target.variables.pop(name, None)

    def _assign(self, name: str, value: Value, scope: Scope) -> None:
        if self.maybe and scope.look(name) != value:
            value = None
        scope.variables[name] = value

    def _declare(self, name: str, value: Value, kind: str, call: Call, scope: Scope, *, force: bool) -> None:
        """What is in the cache already keeps its value, unless it is surely overwritten."""
        entry, where = scope.cache.get(name), f"{self.file}:{call.line}"
        if entry is None:
            scope.cache[name] = CacheEntry(value, kind, where, is_certain=not self.maybe)
        elif force and not self.maybe:
            scope.cache[name] = CacheEntry(value, kind, where)
        else:
            type_ = kind if entry.type == "UNINITIALIZED" else entry.type
            scope.cache[name] = CacheEntry(
                entry.value, type_, entry.where or where, entry.is_certain or not self.maybe
            )
        if not self.maybe:
            scope.variables.pop(name, None)

    def option(self, call: Call, scope: Scope) -> None:
        """``option(NAME "help" VALUE)``; nothing where an ordinary variable has that name already."""
        words = [expand(item, scope) for item in call.arguments]
        if not words or words[0] is None:
            return
        if words[0] in scope.variables and not scope.hides_options and not self.maybe:
            del scope.variables[words[0]]  # an old policy lets the option win
        if words[0] not in scope.variables:
            self._declare(words[0], words[2] if len(words) > 2 else "OFF", "BOOL", call, scope, force=False)  # noqa: PLR2004

    def dependent_option(self, call: Call, scope: Scope) -> None:
        """``cmake_dependent_option(NAME "help" VALUE "condition;…" FORCED)``."""
        if len(call.arguments) < 5:  # noqa: PLR2004  the command's own count
            return
        name, _, value, depends, forced = (expand(item, scope) for item in call.arguments[:5])
        if name is None:
            return
        answer = _all_hold(depends, scope)
        if answer:
            self._declare(name, value, "BOOL", call, scope, force=False)
        elif answer is None:
            self._doubtful_option(name, value, call, scope)
        else:
            if name in scope.cache:
                entry = scope.cache[name]
                scope.cache[name] = CacheEntry(entry.value, "INTERNAL", f"{self.file}:{call.line}")
            scope.variables[name] = forced

    def _doubtful_option(self, name: str, value: Value, call: Call, scope: Scope) -> None:
        self.maybe += 1
        self._declare(name, value, "BOOL", call, scope, force=False)
        self.maybe -= 1

    def unset(self, call: Call, scope: Scope) -> None:
        """``unset(NAME [CACHE])``."""
        name = expand(call.arguments[0], scope) if call.arguments else None
        if name is None or self.maybe:
            return
        place = scope.cache if any(item.text == "CACHE" for item in call.arguments[1:]) else scope.variables
        place.pop(name, None)

    def include(self, call: Call, scope: Scope) -> None:
        """``include(FILE)`` of the tree; modules of CMake's own declare no option of the tree."""
        path = self._inside(call, scope)
        if path is None:
            return
        if self.read(path) is None:
            name = posixpath.basename(path)
            path = next(
                (p for p in (f"cmake/{name}.cmake", f"cmake/Modules/{name}.cmake") if self.read(p)), path
            )
        self.run_file(path, scope)

    def subdirectory(self, call: Call, scope: Scope) -> None:
        """``add_subdirectory(FOLDER)``: a scope of its own, and the same cache."""
        path = self._inside(call, scope)
        if path is not None:
            inner = scope.inner()
            inner.variables["CMAKE_CURRENT_SOURCE_DIR"] = f"{SOURCE}/{path}"
            inner.variables["CMAKE_CURRENT_BINARY_DIR"] = None
            self.run_file(f"{path}/CMakeLists.txt", inner)

    def _inside(self, call: Call, scope: Scope) -> str | None:
        """The path that a call names, relative to the tree; None where it is unknown or elsewhere."""
        text = expand(call.arguments[0], scope) if call.arguments else None
        base = scope.look("CMAKE_CURRENT_SOURCE_DIR") or SOURCE
        path = None if text is None else posixpath.normpath(posixpath.join(base, text))
        return path.removeprefix(f"{SOURCE}/") if path is not None and path.startswith(f"{SOURCE}/") else None

    def project(self, _call: Call, scope: Scope) -> None:
        """``project(NAME …)``: from here on the project's folder is this one."""
        scope.variables["PROJECT_SOURCE_DIR"] = scope.look("CMAKE_CURRENT_SOURCE_DIR")
        scope.variables["PROJECT_BINARY_DIR"] = scope.look("CMAKE_CURRENT_BINARY_DIR")

    def minimum(self, call: Call, scope: Scope) -> None:
        """``cmake_minimum_required(VERSION A[...B])``: which policies hold."""
        words = [expand(item, scope) or "" for item in call.arguments]
        found = _RELEASES.fullmatch(words[1] if len(words) > 1 else "")
        if found is not None and not self.maybe:
            highest = (found[3], found[4]) if found[3] else (found[1], found[2])
            wanted = scope.look("CMAKE_POLICY_DEFAULT_CMP0077") == "NEW"
            scope.hides_options = wanted or tuple(map(int, highest)) >= _HIDES_SINCE

    def policy(self, call: Call, scope: Scope) -> None:
        """``cmake_policy(SET CMP0077 NEW)`` and ``cmake_policy(VERSION …)``."""
        words = [expand(item, scope) or "" for item in call.arguments]
        if words[:2] == ["SET", "CMP0077"] and not self.maybe:
            scope.hides_options = words[2:3] == ["NEW"]
        elif words[:1] == ["VERSION"]:
            self.minimum(call, scope)

    def leave(self, _call: Call, _scope: Scope) -> None:
        """``return()``."""
        raise _ReturnError

    def package(self, call: Call, scope: Scope) -> None:
        """``find_package(NAME)``: nobody knows whether it is found."""
        name = call.arguments[0].text if call.arguments else ""
        scope.searched |= {name, name.upper()} - {""}
        _spoil(call, scope)


_COMMANDS: Mapping[str, Callable[[_Walk, Call, Scope], None]] = {
    "set": _Walk.set,
    "unset": _Walk.unset,
    "option": _Walk.option,
    "cmake_dependent_option": _Walk.dependent_option,
    "include": _Walk.include,
    "add_subdirectory": _Walk.subdirectory,
    "return": _Walk.leave,
    "project": _Walk.project,
    "cmake_minimum_required": _Walk.minimum,
    "cmake_policy": _Walk.policy,
    "find_package": _Walk.package,
}


def _joined(words: list[Value]) -> Value:
    known = [word for word in words if word is not None]
    return ";".join(known) if len(known) == len(words) and sum(map(len, known)) <= LONGEST else None


def _spoil(call: Call, scope: Scope) -> None:
    """A command that we do not follow may write any variable that it names; the cache's are its own."""
    fixed = cmake_fact().variables.keys() | set(cmake_fact().unset)
    for item in call.arguments:
        name = item.text
        if item.kind == "RAW" and _NAME.fullmatch(name) and name not in scope.cache and name not in fixed:
            scope.variables[name] = None


def _all_hold(depends: Value, scope: Scope) -> bool | None:
    """Each of a list of conditions."""
    if depends is None:
        return None
    answers = [holds(condition, scope) for condition in depends.split(";")]
    return False if False in answers else (None if None in answers else True)


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
                return Loop(arguments(item.arguments), tuple(map(block, item.body)))
            case Definition():
                return item

    return tuple(map(block, body))


def _replaced(text: str, given: Mapping[str, Value]) -> str:
    for name, value in given.items():
        text = text.replace("${" + name + "}", "${" + _UNKNOWN + "}" if value is None else value)
        if len(text) > LONGEST:
            return "${" + _UNKNOWN + "}"
    return text
