"""What the small files of a built torch say: its version file, headers, CMake files and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from torchbuild.model.gpu_arch import Arch

__all__ = ["archs_of_options", "definitions", "macros", "required", "requirements", "version_values"]

_VERSION_LINE = re.compile(
    r"^(\w+)(?:[ \t]*:[^=\n]+|[ \t]*)=[ \t]*"
    r"(?:'([^'\\\n]{0,200})'|\"([^\"\\\n]{0,200})\"|(\w{1,200}))[ \t\r]*$",
    re.MULTILINE,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(\))?[ \t]+(\S[^\n]*)$", re.MULTILINE)
_DEFINITIONS = re.compile(r"^[ \t]*INTERFACE_COMPILE_DEFINITIONS[ \t]+\"([^\"\n]*)\"[ \t\r]*$", re.MULTILINE)
_OPTION_WORD = re.compile(r"(?<![^\s;])-D(\w+)(?:=\S*)?(?![^\s;])")
_CODE = re.compile(r"\bcode=\[?([a-z0-9_,]+)\]?")
_TARGET = re.compile(r"(sm|compute)_([1-9][0-9]{1,2})([af]?)")


def version_values(text: str) -> dict[str, str]:
    """Names that ``version.py`` binds to a text or a word; None is an empty text."""
    found: dict[str, str] = {}
    for name, single, double, word in _VERSION_LINE.findall(text):
        found[name] = "" if word == "None" else single or double or word
    return found


def macros(text: str) -> dict[str, str]:
    """``#define NAME value`` and ``#define NAME() value``; one that comes twice has its last value."""
    return {name: value.strip() for name, value in _MACRO.findall(text)}


def definitions(targets: str, flags: str) -> set[str]:
    """Words of the targets of a CMake file, and of a compiler's options."""
    found = {word for line in _DEFINITIONS.findall(targets) for word in line.split(";")}
    return found | set(_OPTION_WORD.findall(flags))


def archs_of_options(text: str) -> tuple[str, ...] | None:
    """The architectures of nvcc's options, as a recipe writes them; None for none, or strange ones."""
    real: set[tuple[int, str]] = set()
    virtual: set[tuple[int, str]] = set()
    for target in (word for words in _CODE.findall(text) for word in words.split(",")):
        found = _TARGET.fullmatch(target)
        if found is None:
            return None
        (real if found[1] == "sm" else virtual).add((int(found[2]), found[3]))
    if not real or not virtual <= real:
        return None
    return tuple(Arch(*item, has_ptx=item in virtual).torch_item for item in sorted(real))


def requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    """Requirements that can be read."""
    for line in lines:
        try:
            yield Requirement(line)
        except ValueError:  # which InvalidRequirement is; so is a number of thousands of digits
            continue


def required(lines: Iterable[str], beginning: str) -> tuple[str, str]:
    """The one exact release that is required of a distribution, and the requirement; else empty.

    Args:
        lines: Requires-Dist.
        beginning: of the distribution's name, what follows it being digits.
    """
    name = re.compile(re.escape(beginning) + r"[0-9]*")
    found = {
        (next(iter(item.specifier)).version, f"{item.name}{item.specifier}")
        for item in requirements(lines)
        if name.fullmatch(canonicalize_name(item.name))
        and [part.operator for part in item.specifier] == ["=="]
        and not next(iter(item.specifier)).version.endswith("*")
    }
    return found.pop() if len(found) == 1 else ("", "")
