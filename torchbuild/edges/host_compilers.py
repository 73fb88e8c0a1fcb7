"""Host compilers in PATH, by all names that they have there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchbuild.edges.host_programs import Answer, ask, kind_of, plain_environ
from torchbuild.model.host import Compiler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchbuild.edges.host_glances import Glances
    from torchbuild.edges.host_programs import Found, Programs

__all__ = ["COMPILERS", "compiler_blanks", "compiler_told", "compilers_of", "look_at_compiler"]

COMPILERS = r"(?:gcc|g\+\+|clang|clang\+\+)(?:-[0-9]+(?:\.[0-9]+)*)?"
"""Names of interest, with the suffix of a release."""

_CLANG = re.compile(r"\bclang version ([0-9]+(?:\.[0-9]+)+)")
_GCC = re.compile(r"^\S*(?:gcc|g\+\+|c\+\+|cc)(?:[-\w.]*)? (?:\(.*\) )?([0-9]+(?:\.[0-9]+)+)")


def compilers_of(programs: Programs) -> tuple[tuple[Found, ...], ...]:
    """All compilers, those of one file together: one start tells of all its names. A cache's names do not."""
    groups: dict[str, list[Found]] = {}
    for found in programs.matching(COMPILERS):
        is_cache = found.real.rpartition("/")[2].endswith(("cache", "distcc", "icecc"))
        groups.setdefault(found.path if is_cache else found.real, []).append(found)
    return tuple(map(tuple, groups.values()))


def compiler_blanks(names: Sequence[Found]) -> tuple[Compiler, ...]:
    """Those of which nothing is known."""
    return tuple(
        Compiler(name=name.name, path=name.path, kind="", version="", real=name.real, why="no answer")
        for name in names
    )


def look_at_compiler(
    names: Sequence[Found], environ: Mapping[str, str], glances: Glances
) -> tuple[Compiler, ...]:
    """What one file says, under each of its names."""
    first = names[0]
    said = ask([first.path, "--version"], plain_environ(environ), glances)
    kind, version = compiler_told(said.text)
    why = "" if version else _why(first, said)
    return tuple(
        Compiler(name=found.name, path=found.path, kind=kind, version=version, real=found.real, why=why)
        for found in names
    )


def _why(found: Found, said: Answer) -> str:
    if said.why:
        return said.why
    return f"a {kind_of(found.path)} that tells no version: {said.text.strip()[:200]!r}"


def compiler_told(text: str) -> tuple[str, str]:
    """Kind and version in what a compiler says of itself; empty where it is another's."""
    clang = _CLANG.search(text)
    if clang:
        return "clang", clang[1]
    gcc = _GCC.match(text)
    return ("gcc", gcc[1]) if gcc and "Free Software Foundation" in text else ("", "")
