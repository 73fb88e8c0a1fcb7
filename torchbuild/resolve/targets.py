"""Targets of a build tree by name, out of the text of its ``build.ninja``: what was probably meant."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator

__all__ = ["is_target", "near_targets", "targets"]

_WORD = re.compile(r"(?:\$.|[^$\s:|])+")
_ESCAPED = re.compile(r"\$(.)")
_GENERATED = ("CMakeFiles/", "cmake_object_order_depends_target_")
"""How CMake's own steps begin: nobody asks for one."""
_LONGEST = 200


def targets(build_ninja: str) -> tuple[str, ...]:
    """What ninja can be asked for, each once, in the order of the file: targets, libraries, objects."""
    return tuple(dict.fromkeys(_outputs(build_ninja)))


def _outputs(build_ninja: str) -> Iterator[str]:
    for line in build_ninja.replace("$\n", "").split("\n"):
        if line.startswith("build "):
            for word in _WORD.finditer(line, len("build "), _end(line)):
                yield _ESCAPED.sub(r"\1", word[0])


def _nodes(build_ninja: str) -> Iterator[str]:
    """All that ninja knows by name: what is built, and what it is built of."""
    for line in build_ninja.replace("$\n", "").split("\n"):
        if line.startswith("build "):
            end = _end(line)
            _rule, *inputs = _WORD.findall(line, end) or [""]
            for word in (*_WORD.findall(line, len("build "), end), *inputs):
                yield _ESCAPED.sub(r"\1", word)


def _end(line: str) -> int:
    """Where the outputs end: at the first colon that is not escaped."""
    found = re.search(r"(?<!\$)(?:\$\$)*:", line)
    return found.end() - 1 if found else len(line)


def is_target(name: str, build_ninja: str) -> bool:
    """Whether ninja takes this name: a target, a file built or read, ``FILE^`` for what is made of it."""
    wanted = posixpath.normpath(name.removesuffix("^"))
    return bool(name) and any(posixpath.normpath(item) == wanted for item in _nodes(build_ninja))


def near_targets(name: str, build_ninja: str, *, most: int = 5) -> tuple[str, ...]:
    """The targets most like `name`, the nearest first; paths that end with it come before all others."""
    asked = name[:_LONGEST]
    known = [item for item in targets(build_ninja) if not item.startswith(_GENERATED)]
    ending = sorted((item for item in known if item.endswith(f"/{asked}")), key=len)
    alike = difflib.get_close_matches(asked, known, n=most)
    return tuple(dict.fromkeys([*ending, *alike]))[:most]
