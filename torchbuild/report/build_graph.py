"""Who waits for whom: the edges of a ``build.ninja``, and the longest way through them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

__all__ = ["BuildGraph", "parse_build_ninja"]

_TOKEN = re.compile(r"\|@|\|\||\||:|(?:\$\{[^}\s]*\}|\$.|[^$\s:|])+")
_ESCAPE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z0-9_-]+)|(.))")
_VARIABLE = re.compile(r"([A-Za-z0-9_.-]+) *= *(.*)")
_VALIDATION = "|@"
"""Ninja's sign before what is checked besides, and nothing waits for."""
_SEPARATORS = frozenset({"|", "||", _VALIDATION})
_MOST_EDGES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class BuildGraph:
    """Edges by number."""

    outputs: tuple[tuple[str, ...], ...]
    """What each makes."""
    needs: tuple[tuple[int, ...], ...]
    """Those that end before each begins."""
    is_phony: tuple[bool, ...]
    """Whether each only names others."""
    makers: Mapping[str, int]
    """The edge of each output."""
    defaults: tuple[int, ...]
    """What is built where nothing is asked for."""

    def closure(self, wanted: tuple[int, ...] = (), *, known: AbstractSet[int] = frozenset()) -> set[int]:
        """All edges that some need, themselves included, but for those that are known with all they need.

        Args:
            wanted: edges; the defaults, or all, where there are none.
            known: a closure.
        """
        left = list(wanted or self.defaults or range(len(self.needs)))
        found: set[int] = set()
        while left:
            edge = left.pop()
            if edge not in found and edge not in known:
                found.add(edge)
                left.extend(self.needs[edge])
        return found

    @cached_property
    def order(self) -> list[int]:
        """Each edge after those that it needs; what goes round in a circle is cut somewhere."""
        done: set[int] = set()
        seen: set[int] = set()
        found: list[int] = []
        for first in range(len(self.needs)):
            stack = [(first, False)]
            while stack:
                edge, is_left = stack.pop()
                if is_left:
                    done.add(edge)
                    found.append(edge)
                elif edge not in seen:
                    seen.add(edge)
                    stack.append((edge, True))
                    stack.extend((need, False) for need in self.needs[edge] if need not in seen)
        return found

    def longest(self, seconds: Mapping[int, float]) -> tuple[int, ...]:
        """The way that takes longest, first edge first; edges without a time take none and are left out."""
        length, before = self._lengths(seconds)
        if not length:
            return ()
        at = max(range(len(length)), key=length.__getitem__)
        way = [at]
        while before[at] >= 0:
            at = before[at]
            way.append(at)
        return tuple(edge for edge in reversed(way) if edge in seconds)

    def length(self, seconds: Mapping[int, float]) -> float:
        """How long the longest way takes."""
        return max(self._lengths(seconds)[0], default=0.0)

    def _lengths(self, seconds: Mapping[int, float]) -> tuple[list[float], list[int]]:
        """Of each edge: the longest way to its end, and the edge before it on that way, or -1."""
        length = [0.0] * len(self.needs)
        before = [-1] * len(self.needs)
        for edge in self.order:
            best, via = 0.0, -1
            for need in self.needs[edge]:
                if length[need] > best:
                    best, via = length[need], need
            length[edge] = best + seconds.get(edge, 0.0)
            before[edge] = via
        return length, before


def parse_build_ninja(text: str) -> BuildGraph:
    """The edges that a file says by itself; what it includes is not followed, but CMake's rules are there."""
    variables: dict[str, str] = {}
    outputs: list[tuple[str, ...]] = []
    inputs: list[list[str]] = []
    is_phony: list[bool] = []
    wanted: list[str] = []
    for line in _lines(text):
        if line.startswith("build ") and len(outputs) < _MOST_EDGES:
            made, rule, needed = _edge(line, variables)
            if made:
                outputs.append(made)
                inputs.append(needed)
                is_phony.append(rule == "phony")
        elif line.startswith("default "):
            wanted += _words(line[len("default ") :], variables)
        elif (match := _VARIABLE.fullmatch(line)) is not None:
            variables[match[1]] = _plain(match[2], variables)
    makers = {name: number for number, names in enumerate(outputs) for name in names}
    return BuildGraph(
        outputs=tuple(outputs),
        needs=tuple(_known(names, makers) for names in inputs),
        is_phony=tuple(is_phony),
        makers=makers,
        defaults=_known(wanted, makers),
    )


def _known(names: list[str], makers: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(makers[name] for name in names if name in makers))


def _lines(text: str) -> Iterator[str]:
    """Statements that begin a line; indented ones belong to the one above and say no names."""
    for line in text.replace("$\n", "").split("\n"):
        if line and not line.startswith((" ", "#")):
            yield line.rstrip("\r")


def _edge(line: str, variables: Mapping[str, str]) -> tuple[tuple[str, ...], str, list[str]]:
    made: list[str] = []
    rule = ""
    needed: list[str] = []
    is_left = True
    is_validation = False
    for match in _TOKEN.finditer(line, len("build ")):
        word = match[0]
        if word == ":" and is_left:
            is_left = False
        elif word in _SEPARATORS:
            is_validation = match[0] == _VALIDATION
        elif is_left:
            made.append(_plain(word, variables))
        elif not rule:
            rule = word
        elif not is_validation:
            needed.append(_plain(word, variables))
    return tuple(made), rule, needed


def _words(text: str, variables: Mapping[str, str]) -> list[str]:
    return [_plain(match[0], variables) for match in _TOKEN.finditer(text) if match[0] not in _SEPARATORS]


def _plain(word: str, variables: Mapping[str, str]) -> str:
    """Without ninja's escapes, and with the variables of the file."""
    if "$" not in word:
        return word

    def told(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return variables.get(name, "") if name else match[3]

    return _ESCAPE.sub(told, word)
