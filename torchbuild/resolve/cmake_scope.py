"""CMake's variables where not all of them can be known: a value is a text, or None for one nobody knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from torchbuild.knowledge.tables import cmake_fact
from torchbuild.resolve.cmake_blocks import Argument

__all__ = ["LONGEST", "CacheEntry", "Scope", "Value", "expand"]

Value = str | None
_REFERENCE = re.compile(r"\$(ENV|CACHE)?\{((?:[^${}]|\\.)*)\}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", ";": "\\;"}
_OF_CMAKE = ("CMAKE_", "PROJECT_", "CPACK_")
_DEEPEST = 20
LONGEST = 20_000
"""Characters of a value; a longer one counts as unknown, so that no tree can fill the memory with one."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One entry of the cache that a tree will have."""

    value: Value
    """What stands in it; None where nobody can say."""
    type: str
    """``BOOL``, ``STRING``, ``INTERNAL``…; ``UNINITIALIZED`` for what was handed over and is not declared."""
    where: str
    """``FILE:LINE`` of what declared it; empty for what was handed over."""
    is_certain: bool = True
    """Whether it is sure to be declared at all."""


@dataclass(slots=True)
class Scope:
    """Variables and cache as a script sees them."""

    cache: dict[str, CacheEntry]
    """Shared by all scopes of one tree."""
    environ: dict[str, Value]
    """The build's whole environment, shared like the cache: what is not in it is not set."""
    variables: dict[str, Value] = field(default_factory=dict)
    """Ordinary ones, which hide the cache's."""
    outer: Scope | None = None
    """Where ``PARENT_SCOPE`` writes."""
    release: tuple[int, int] = (3, 27)
    """The release whose policies hold."""
    hides_options: bool = True
    """Whether an ordinary variable keeps an option of its name from being declared: policy CMP0077."""
    searched: set[str] = field(default_factory=set)
    """Beginnings of names that nobody can know, such as a package's that is looked for."""
    is_open: bool = False
    """Whether something was run that nobody could read: what is not set here may be set all the same."""

    def look(self, name: str) -> Value:
        """The value of a variable; empty where it is not set."""
        if name in self.variables:
            return self.variables[name]
        if name in self.cache:
            return self.cache[name].value
        return None if self._is_unknowable(name) else ""

    def _is_unknowable(self, name: str) -> bool:
        """CMake's own names that no table tells, and what is found of a package: ``NAME_PART_FOUND``."""
        if name in cmake_fact().unset:
            return False
        return self.is_open or name.startswith(_OF_CMAKE) or name.startswith(tuple(self.searched))

    def is_set(self, name: str) -> bool | None:
        """Whether a variable is set; None where nobody knows."""
        if name in self.variables:
            return None if self.variables[name] is None else True
        entry = self.cache.get(name)
        if entry is None:
            return None if self._is_unknowable(name) else False
        return True if entry.is_certain else None

    def inner(self) -> Scope:
        """The scope of a function or a directory: it sees all of this one and changes nothing in it."""
        return Scope(
            self.cache,
            self.environ,
            dict(self.variables),
            self,
            self.release,
            self.hides_options,
            set(self.searched),
            self.is_open,
        )


def expand(argument: Argument, scope: Scope) -> Value:
    """An argument with its references replaced; None where one of them is unknown."""
    if argument.kind == "BRACKETED":
        return argument.text
    text: Value = argument.text
    for _ in range(_DEEPEST):  # references nest: ${A_${B}}
        if text is None or len(text) > LONGEST or _REFERENCE.search(text) is None:
            break
        text = _once(text, scope)
    return (
        None if text is None or len(text) > LONGEST else _ESCAPE.sub(lambda m: _LETTERS.get(m[1], m[1]), text)
    )


def _once(text: str, scope: Scope) -> Value:
    found = [_referred(match, scope) for match in _REFERENCE.finditer(text)]
    if any(value is None for value in found):
        return None
    values = iter(found)
    take: Callable[[re.Match[str]], str] = lambda _match: next(values) or ""  # noqa: E731
    return _REFERENCE.sub(take, text)


def _referred(match: re.Match[str], scope: Scope) -> Value:
    kind, name = match[1], match[2]
    if kind == "ENV":
        return scope.environ.get(name, "")
    if kind == "CACHE":
        return scope.cache[name].value if name in scope.cache else ""
    return scope.look(name)
