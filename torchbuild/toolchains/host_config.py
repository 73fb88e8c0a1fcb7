"""nvcc's own word on host compilers: the conditions in ``crt/host_config.h``, read without a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchbuild.model.frozen import Frozen

__all__ = ["HostConfig", "parse_host_config"]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|error)\b([^\n]*)")
_MAJOR = {"gcc": "__GNUC__", "clang": "__clang_major__"}
_MINOR = {"gcc": "__GNUC_MINOR__", "clang": "__clang_minor__"}
_WORDS = {"gcc": "unsupported gnu version", "clang": "unsupported clang version"}
"""How the header ends a compilation; other vendors' clangs are called something else."""
_COMPARED = r"{name}\s*\)?\s*(>=|>|<=|<|==)\s*\(?\s*([0-9]{{1,4}})\b"
MOST_CHARACTERS = 1_000_000
"""A header of NVIDIA's has some twenty thousand."""


class HostConfig(Frozen):
    """What a toolkit's header takes. An empty range: it does not say, or not so that we understand it."""

    gcc: str = ""
    """A range, such as ``<14``."""
    clang: str = ""
    """A range, such as ``>=3,<18``."""
    unread: tuple[str, ...] = ()
    """Conditions that could not be understood."""


def parse_host_config(text: str) -> HostConfig:
    """What the header takes: each refusal in it with the condition around it. Never raises."""
    found: dict[str, set[str]] = {"gcc": set(), "clang": set()}
    unread: list[str] = []
    for kind, conditions in _refusals(text[:MOST_CHARACTERS]):
        condition = next((item for item in reversed(conditions) if _MAJOR[kind] in item), "")
        ranges = set(_accepted(kind, condition))
        found[kind] |= ranges
        if not ranges:
            unread.append(condition or "none")
    gcc, clang = (",".join(sorted(found[kind], key=_lower_first)) for kind in ("gcc", "clang"))
    return HostConfig(gcc=gcc, clang=clang, unread=tuple(unread))


def _lower_first(item: str) -> tuple[bool, str]:
    return item.startswith("<"), item


def _refusals(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each refusal of a compiler, with the conditions that it stands in, outermost first."""
    stack: list[str] = []
    plain = _COMMENT.sub(" ", text.replace("\\\n", " "))
    for found in map(_DIRECTIVE.match, plain.splitlines()):
        if found is None:
            continue
        word, rest = found[1], " ".join(found[2].split())
        if word in ("if", "ifdef", "ifndef"):
            stack.append(rest)
        elif word == "endif":
            del stack[-1:]
        elif word in ("elif", "else"):
            stack[-1:] = [rest] if stack else []
        elif word == "error":
            said = rest.lower()
            yield from ((kind, tuple(stack)) for kind, words in _WORDS.items() if words in said)


def _accepted(kind: str, condition: str) -> Iterator[str]:
    """What a condition for refusing leaves: each of its alternatives turned round."""
    for alternative in condition.split("||"):
        major = _compared(_MAJOR[kind], alternative)
        minor = _compared(_MINOR[kind], alternative)
        match major, minor:
            case (">", number), None:
                yield f"<{number + 1}"
            case (">=", number), None:
                yield f"<{number}"
            case ("<", number), None:
                yield f">={number}"
            case ("<=", number), None:
                yield f">={number + 1}"
            case ("==", number), (">", part):
                yield f"<{number}.{part + 1}"
            case ("==", number), (">=", part):
                yield f"<{number}.{part}"
            case _:
                pass  # older than anything that is still looked for, or nothing that we understand


def _compared(name: str, text: str) -> tuple[str, int] | None:
    found = re.search(_COMPARED.format(name=name), text)
    return (found[1], int(found[2])) if found else None
