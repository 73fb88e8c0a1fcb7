"""What edges should take, before a build begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torchbuild.report.timeline import kind_of

__all__ = ["Expected"]

_ALIKE_S = 1.0
"""Where nobody tells of facts all are taken for alike: how long they really take is soon seen."""
_HIT_S = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What edges should take."""

    learned: Mapping[str, float] = field(default_factory=dict)
    """Seconds by output, as an earlier build with this compiler measured them, nothing out of a cache."""
    cached: Mapping[str, float] = field(default_factory=dict)
    """The same, where it came out of the compiler's cache."""
    kind: Callable[[str], str] = kind_of
    """What is like what: of these each says how fast the others will be."""
    guess: Callable[[str], float] = lambda _output: _ALIKE_S
    """For all others."""
    guess_hit: Callable[[str], float] = lambda _output: _HIT_S
    """For all others, where they come out of the cache."""

    def of(self, output: str) -> float:
        """Seconds."""
        known = self.learned.get(output)
        return self.guess(output) if known is None else known

    def of_hit(self, output: str) -> float:
        """Seconds, where it comes out of the cache."""
        known = self.cached.get(output)
        return self.guess_hit(output) if known is None else known
