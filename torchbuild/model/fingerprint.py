"""What a build tree is made with: as long as it is the same, what is compiled in it may be gone on with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock

__all__ = ["FINGERPRINT", "Fingerprint", "fingerprint_of"]

FINGERPRINT = ".torchbuild-fingerprint.json"
"""Where the build tree keeps it; `torchbuild.shim.fingerprint` writes it, with the tools' own bytes."""
_MOST = 200
_SHOWN = 16


class Fingerprint(Frozen):
    """Compilers, interpreter, toolkit, flags and architectures, as a lock asks for them, each by its name.

    The source is no part of it: ninja knows what a change of that changes.
    """

    asked: dict[str, str]
    """Name -> value."""

    def changes(self, kept: str | None) -> tuple[str, ...]:
        """What differs from the fingerprint that a build tree keeps, one line each.

        Args:
            kept: the file's text; None where there is none, which says nothing of what the tree holds.
        """
        then = _parsed(kept)
        if then is None:
            return () if kept is None else ("it cannot be read",)
        names = sorted(name for name in {*then, *self.asked} if then.get(name) != self.asked.get(name))
        return tuple(
            f"{name}: was {then.get(name, 'nothing')}, now {self.asked.get(name, 'nothing')}"
            for name in names
        )


def fingerprint_of(lock: Lock) -> Fingerprint:
    """What a lock asks for."""
    asked = {
        "C compiler": f"{lock.cc} {lock.compiler_c or ''}".strip(),
        "C++ compiler": f"{lock.cxx} {lock.compiler}",
        "compiler cache": lock.compiler_cache,
        "front end": lock.era,
        "interpreter": f"{lock.python.executable} {lock.python.version} {lock.python.soabi}",
        "machine": f"{lock.machine} glibc {lock.glibc}",
        "GPU architectures": " ".join(lock.gpu_archs) or "none",
    }
    if lock.image is not None:
        asked["builder image"] = lock.image.id[:_SHOWN]
    for part in lock.parts:
        asked[f"part {part.name}"] = f"{part.provider} {part.version} {_short(part.model_dump(mode='json'))}"
    asked |= {f"package {item.name}": item.sha256[:_SHOWN] for item in lock.build_requires}
    asked |= _named("variable", lock.environ) | _named("definition", lock.defines)
    return Fingerprint(asked=asked)


def _named(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    """Long ones by their beginning and their digest."""
    return {
        f"{kind} {name}": value if len(value) <= _MOST else f"{value[:_MOST]}… {_short(value)}"
        for name, value in values.items()
    }


def _short(value: Any) -> str:  # noqa: ANN401  any JSON value
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_SHOWN]


def _parsed(text: str | None) -> Mapping[str, str] | None:
    try:
        return Fingerprint(asked=json.loads(text or "")["asked"]).asked
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None
