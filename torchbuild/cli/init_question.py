"""What ``torchbuild init`` was asked, and the command line that asks it again, or asks for a way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchbuild.advice.answer import Way
from torchbuild.advice.of_recipe import WISH_KEYS
from torchbuild.advice.said import init_command
from torchbuild.advice.wish import Wish
from torchbuild.cli.init_sets import typed
from torchbuild.cli.init_wish import Asked
from torchbuild.resolve.overrides import Override

__all__ = ["Question"]

_AUTO = "auto"
_LISTS = ("gpus", "archs")
_BLANK = {name: "" if row.is_required() else row.default for name, row in Wish.model_fields.items()}
_USUAL_MACHINE = Wish.model_fields["machine"].default
_KEYS = {name: key for key, name in WISH_KEYS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A wish, and the words that made it."""

    asked: Asked
    """The options."""
    sets: tuple[Override, ...]
    """Those of ``--set``, without tables."""
    wish: Wish
    """What they and the build of ``--like`` come to."""
    like: Mapping[str, Any] = field(default_factory=dict)
    """What that build alone is."""

    def command(self, way: Way | None = None, *, with_out: bool = True) -> str:
        """The command line that asks for the same, or for a way out, with everything else that was asked.

        What ``--set`` says stays there, and what the build of ``--like`` has is not named again: a line of
        the recipe then has the same reason. What a way changes is said by an option.

        Args:
            way: the way out.
            with_out: whether the file is named too.
        """
        wish = way.wish if way is not None else self.wish
        changed = {name for name in _KEYS if getattr(wish, name) != getattr(self.wish, name)}
        sets = tuple(item for item in self.sets if WISH_KEYS.get(item.dotted) not in changed)
        words = dict(wish) | dict(self._answered(way, changed))
        words |= {name: _BLANK[name] for name in self._unsaid(sets, changed)}
        added = tuple(item for item in words["gpus"] if item in self.asked.added)
        words["gpus"] = tuple(item for item in words["gpus"] if item not in added)
        if "driver" not in changed and words["driver"] and self.asked.driver not in ("", _AUTO):
            words["driver"] = self.asked.driver
        is_cpu = self.asked.is_cpu or not (self.like or wish.gpus or wish.archs or self._names_gpus(sets))
        more = (
            *self._more(added, words["machine"], with_out=with_out),
            *(word for item in sets for word in ("--set", typed(item))),
        )
        return init_command(Wish.model_construct(**words), more=more, is_cpu=is_cpu)

    def _unsaid(self, sets: tuple[Override, ...], changed: set[str]) -> Iterator[str]:
        """Fields that ``--set`` or the build says."""
        yield from (name for item in sets if (name := WISH_KEYS.get(item.dotted)))
        for name, value in self.like.items():
            is_asked = name == "gpus" or name in changed or getattr(self.asked, name, None)
            if not is_asked and getattr(self.wish, name) == value:
                yield name

    def _answered(self, way: Way | None, changed: set[str]) -> Iterator[tuple[str, Any]]:
        """What a way leaves open and the build would say again: as it was chosen for the way."""
        chosen = {item.key: item.value for item in way.choices} if way is not None else {}
        for name in changed & self.like.keys():
            value = chosen.get(_KEYS[name], "")
            if way is not None and not getattr(way.wish, name) and value:
                yield name, tuple(value.replace(" ", "").split(",")) if name in _LISTS else value

    def _more(self, added: tuple[str, ...], machine: str, *, with_out: bool) -> Iterator[str]:
        """Options that are no wish, and a processor family that was named though it is the usual one."""
        asked = self.asked
        if asked.machine and machine == _USUAL_MACHINE:
            yield from ("--machine", machine)
        found = [("--like", asked.like), *(("--add-gpu", item) for item in added), ("--name", asked.name)]
        found += [("--out", asked.out)] if with_out else []
        yield from (word for option, value in found if value for word in (option, value))

    @staticmethod
    def _names_gpus(sets: tuple[Override, ...]) -> bool:
        return any(WISH_KEYS.get(item.dotted) in _LISTS for item in sets)
