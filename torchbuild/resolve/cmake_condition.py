"""CMake's conditions, with a third answer: None for what cannot be known before CMake runs."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchbuild.resolve.cmake_blocks import Argument, Choice, read_script
from torchbuild.resolve.cmake_scope import Scope, Value, expand
from torchbuild.shim.cache import is_true

__all__ = ["holds", "is_true_constant", "judge"]

Answer = bool | None
_TRUE = {"1", "ON", "YES", "TRUE", "Y"}
_UNKNOWN_TESTS = {
    "EXISTS", "IS_DIRECTORY", "IS_SYMLINK", "IS_READABLE", "IS_WRITABLE", "IS_EXECUTABLE", "IS_ABSOLUTE",
    "TARGET", "TEST", "COMMAND",
}  # fmt: skip
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "EQUAL": operator.eq,
    "LESS": operator.lt,
    "GREATER": operator.gt,
    "LESS_EQUAL": operator.le,
    "GREATER_EQUAL": operator.ge,
}
_HEAVY = re.compile(r"\)[*+{]|\\[A-Za-z]|\[\[:")
"""A repeated group, with which a tree could keep us busy, and what CMake's expressions do not have."""
_LONGEST = 1000
_HEX = re.compile(r"[-+]?0[xX][0-9A-Fa-f]+")
_RELEASE = re.compile(r"\d+(\.\d+)*")


def _number(text: str) -> float | None:
    """As C reads a whole text as a number."""
    try:
        if _HEX.fullmatch(text):
            return float(int(text, 16))
        return None if "_" in text else float(text)
    except ValueError:
        return None


def is_true_constant(text: str) -> bool:
    """Whether CMake takes the text itself for true."""
    number = _number(text)
    return text.upper() in _TRUE or (number is not None and number != 0)


def judge(arguments: tuple[Argument, ...], scope: Scope) -> Answer:
    """Whether ``if(arguments)`` holds."""
    try:
        parser = _Parser(list(arguments), scope)
        answer = parser.either()
    except (IndexError, RecursionError):
        return None
    return None if parser.left else answer


def holds(condition: str, scope: Scope) -> Answer:
    """Whether a condition that stands in a text holds."""
    blocks = read_script(f"if({condition})\nendif()") or ()
    choice = blocks[0] if blocks else None
    arguments = choice.branches[0][0] if isinstance(choice, Choice) else None
    return None if arguments is None else judge(arguments, scope)


@dataclass(slots=True)
class _Parser:
    """NOT binds closest; AND and OR bind alike, from left to right, whatever one is used to."""

    left: list[Argument]
    scope: Scope

    def either(self) -> Answer:
        answer = self.negated()
        while True:
            if self._takes("AND"):
                answer = _and(answer, self.negated())
            elif self._takes("OR"):
                answer = _or(answer, self.negated())
            else:
                return answer

    def negated(self) -> Answer:
        if self._takes("NOT"):
            answer = self.negated()
            return None if answer is None else not answer
        return self.test()

    def test(self) -> Answer:
        first = self.left.pop(0)
        if first.kind == "LPAREN":
            answer = self.either()
            self.left.pop(0)
            return answer
        if first.kind == "RAW" and self.left and self._is_operand():
            if first.text == "DEFINED":
                return self._defined(self.left.pop(0))
            if first.text == "POLICY":
                self.left.pop(0)
                return True
            if first.text in _UNKNOWN_TESTS:
                self.left.pop(0)
                return None
        if self.left and self.left[0].kind == "RAW" and _is_operator(self.left[0].text):
            word = self.left.pop(0).text
            return self._compare(first, word, self.left.pop(0))
        return self._truth(first)

    def _is_operand(self) -> bool:
        """What follows is an operand: ``if(TARGET AND X)`` asks for a variable called TARGET."""
        following = self.left[0]
        words = ("AND", "OR")
        return following.kind != "RPAREN" and not (
            following.kind == "RAW" and (following.text in words or _is_operator(following.text))
        )

    def _takes(self, word: str) -> bool:
        is_next = bool(self.left) and self.left[0].kind == "RAW" and self.left[0].text == word
        if is_next:
            self.left.pop(0)
        return is_next

    def _defined(self, argument: Argument) -> Answer:
        name = expand(argument, self.scope)
        if name is None:
            return None
        inside = re.fullmatch(r"(ENV|CACHE)\{(.*)\}", name)
        if inside is None:
            return self.scope.is_set(name)
        return inside[2] in (self.scope.environ if inside[1] == "ENV" else self.scope.cache)

    def _truth(self, argument: Argument) -> Answer:
        text = expand(argument, self.scope)
        if text is None:
            return None
        if is_true_constant(text):
            return True
        if not is_true(text) or argument.kind != "RAW":
            return False
        value = self.scope.look(text)
        return None if value is None else is_true(value)

    def _operand(self, argument: Argument) -> Value:
        text = expand(argument, self.scope)
        if text is None or argument.kind != "RAW" or self.scope.is_set(text) is False:
            return text
        return self.scope.look(text)

    def _compare(self, left: Argument, word: str, right: Argument) -> Answer:
        if word == "IN_LIST":
            held = expand(right, self.scope)
            listed, item = (None if held is None else self.scope.look(held)), self._operand(left)
            return None if listed is None or item is None else item in listed.split(";")
        a, b = self._operand(left), self._operand(right) if word != "MATCHES" else expand(right, self.scope)
        return None if a is None or b is None else _compared(a, word, b)


def _is_operator(word: str) -> bool:
    plain = word.removeprefix("STR").removeprefix("VERSION_")
    return word in ("MATCHES", "IN_LIST", "PATH_EQUAL") or plain in _COMPARES


def _compared(a: str, word: str, b: str) -> Answer:
    try:
        if word == "MATCHES":
            return None if _HEAVY.search(b) or len(a) > _LONGEST else re.search(b, a) is not None
        if word.startswith("STR"):
            return _COMPARES[word.removeprefix("STR")](a, b)
        if word.startswith("VERSION_"):
            return _COMPARES[word.removeprefix("VERSION_")](*_releases(a, b))
        x, y = _number(a), _number(b)
        return None if word not in _COMPARES or x is None or y is None else _COMPARES[word](x, y)
    except (ValueError, re.error):
        return None


def _releases(a: str, b: str) -> tuple[list[int], list[int]]:
    """Both as numbers of one length; ValueError for what has letters: CMake stops there, in its own way."""
    if not (_RELEASE.fullmatch(a) and _RELEASE.fullmatch(b)):
        raise ValueError
    x, y = [int(part) for part in a.split(".")], [int(part) for part in b.split(".")]
    most = max(len(x), len(y))
    return x + [0] * (most - len(x)), y + [0] * (most - len(y))


def _and(a: Answer, b: Answer) -> Answer:
    if a is False or b is False:
        return False
    return True if a and b else None


def _or(a: Answer, b: Answer) -> Answer:
    if a or b:
        return True
    return None if a is None or b is None else False
