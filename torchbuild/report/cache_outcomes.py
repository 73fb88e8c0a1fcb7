"""What the compiler's cache says of each edge while it works: of its log only what is new is parsed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from torchbuild.report.cache_calls import CacheCall, Outcome, outcomes_by_object, parse_statslog

__all__ = ["CacheOutcomes"]


class CacheOutcomes:
    """Of one log of ccache."""

    def __init__(self) -> None:
        self._at = 0
        self._calls: dict[str, list[CacheCall]] = defaultdict(list)

    def take(self, text: str) -> None:
        """The whole log, as it is now; of whose source alone stands there, the rest comes the next time."""
        if len(text) < self._at:  # another log
            self._at = 0
            self._calls.clear()
        end = text.rfind("\n") + 1
        last = text.rfind("\n", 0, max(end - 1, 0)) + 1
        end = max(last if text.startswith("# ", last) else end, self._at)
        for call in parse_statslog(text[self._at : end]):
            self._calls[_name(call.source)].append(call)
        self._at = end

    def of(self, outputs: Iterable[str]) -> Mapping[str, Outcome]:
        """What became of these; those that nobody can tell are left out."""
        wanted = list(outputs)
        names = {_name(output).rpartition(".")[0] for output in wanted}
        return outcomes_by_object([call for name in names for call in self._calls.get(name, ())], wanted)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
