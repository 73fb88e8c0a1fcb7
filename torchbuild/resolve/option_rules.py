"""Options for compilers that a recipe's author mistyped: one that swallows the next makes another build."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import zip_longest

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import shown

__all__ = ["option_problems"]

_ENVIRONMENT = re.compile(r"(C|CXX|CPP|LD|NVCC|NVCC_PREPEND|NVCC_APPEND|CUDA|CUDAHOST)_?FLAGS(_[A-Z]+)?")
_CMAKE = re.compile(r"CMAKE_(C|CXX|CUDA|ASM|(SHARED|MODULE|EXE|STATIC)_LINKER)_FLAGS(_[A-Z]+)?")
_WITH_A_VALUE = (
    *("-I", "-L", "-D", "-U", "-l", "-B", "-F", "-T", "-include", "-imacros"),
    *("-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot"),
)
"""Options that take the next word, whatever that is, where nothing is joined to them."""


def option_problems(recipe: Recipe) -> Iterator[Problem]:
    """Options without their value: ``-I -fPIC`` searches a directory called -fPIC, and is not -fPIC."""
    tables = (("env", _ENVIRONMENT, recipe.build.env), ("cmake", _CMAKE, recipe.build.cmake))
    for table, names, rows in tables:
        for name, value in rows.items():
            if isinstance(value, str) and names.fullmatch(name):
                for seen, wanted in _wrong(value):
                    yield Problem(path=f"build.{table}.{name}", seen=seen, wanted=wanted)


def _wrong(value: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(value)
    except ValueError:
        yield shown(value), "quotes that end"
        return
    skip = False
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if not skip and word in _WITH_A_VALUE and (not following or following.startswith("-")):
            yield f"{word} {following}".strip(), f"a value behind {word}: it takes the next word for one"
        skip = not skip and word in _WITH_A_VALUE
