"""What the build tree will really hand to nvcc, read out of ninja's own files.

CMake's cache says which architectures and which host compiler were asked for. These entries say what came of
it, under names that no cache has: ``NINJA_CUDA_COMPILER``, ``NINJA_CUDA_HOST_COMPILER``, ``NINJA_CUDA_CODE``
(machine code and PTX that every device object gets) and ``NINJA_CUDA_CODE_SOME`` (what only some get).
"""

import os
import re
from typing import Dict, FrozenSet, Iterable, Iterator, List, Set

from .cache import Entry

__all__ = ["device_entries", "read_device_entries"]

_TYPE = "NINJA"
_RULE = re.compile(r"rule (CUDA_COMPILER__\S+)")
_EDGE = re.compile(r"build .*: (CUDA_COMPILER__\S+)")
_GENCODE = re.compile(r"-{1,2}(?:gencode|generate-code)[ =](?P<pairs>\S+)")
_CODE = re.compile(r"(?:sm|compute|lto)_[0-9]+[af]?")
_PROGRAM = re.compile(r"(?P<nvcc>/\S*/nvcc\S*)")
_CCBIN = re.compile(r"-{1,2}(?:ccbin|compiler-bindir)[ =](?P<path>\S+)")
_NONE = "none"
"""An object whose architectures nvcc chooses by itself."""


def read_device_entries(build_dir: str) -> Dict[str, Entry]:
    """The entries of a build tree; none where it compiles no device code, or is no ninja's."""
    try:
        with open(os.path.join(build_dir, "CMakeFiles", "rules.ninja"), encoding="utf-8") as rules:
            with open(os.path.join(build_dir, "build.ninja"), encoding="utf-8") as edges:
                return device_entries(rules, edges)
    except (OSError, UnicodeDecodeError):
        return {}


def device_entries(rules: Iterable[str], edges: Iterable[str]) -> Dict[str, Entry]:
    """The entries, from the lines of ``rules.ninja`` and ``build.ninja``."""
    commands = list(_commands(rules))
    codes = list(_codes(edges))
    if not commands or not codes:
        return {}
    always = frozenset.intersection(*codes)
    some = frozenset.union(*codes) - always
    return {
        "NINJA_CUDA_CODE": _entry(always),
        "NINJA_CUDA_CODE_SOME": _entry(some),
        "NINJA_CUDA_COMPILER": _entry(_found(_PROGRAM, "nvcc", command) for command in commands),
        "NINJA_CUDA_HOST_COMPILER": _entry(_found(_CCBIN, "path", command) for command in commands),
    }


def _entry(values: Iterable[str]) -> Entry:
    return Entry(_TYPE, " ".join(sorted(set(values))))


def _found(pattern: "re.Pattern[str]", group: str, text: str) -> str:
    match = pattern.search(text)
    return match.group(group) if match is not None else _NONE


def _commands(rules: Iterable[str]) -> Iterator[str]:
    """The command of each rule that compiles device code."""
    is_device = False
    for line in rules:
        if not line.startswith(" "):
            is_device = _RULE.match(line) is not None
        elif is_device and line.startswith("  command = "):
            yield line


def _codes(edges: Iterable[str]) -> Iterator[FrozenSet[str]]:
    """What each device object is compiled for."""
    current: "Set[str] | None" = None
    for line in edges:
        if not line.startswith(" "):
            if current is not None:
                yield frozenset(current or {_NONE})
            current = set() if _EDGE.match(line) is not None else None
        elif current is not None and line.startswith("  FLAGS = "):
            for match in _GENCODE.finditer(line):
                current.update(_asked(match.group("pairs")))
    if current is not None:
        yield frozenset(current or {_NONE})


def _asked(pairs: str) -> List[str]:
    """``arch=compute_90,code=[compute_90,sm_90]`` without what only says how to come there."""
    _, _, code = pairs.partition("code=")
    return _CODE.findall(code)
