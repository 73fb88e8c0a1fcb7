"""Machines that compile for us: who has room, who is left alone for a while, and what became of it all.

Nothing here looks at the machine or at a clock. Seconds come from who asks.
"""

import re
from typing import Any, Dict, Optional

__all__ = ["Pool"]

_REST_S = 10.0
"""So long a machine that failed is left alone; twice as long each time it fails again."""
_LONGEST_REST_S = 320.0
_LONGEST_WHY = 200
_MOST_WORDS = 50


class _Host:
    def __init__(self, told: Dict[str, Any]) -> None:
        self.name = str(told["name"])
        self.spec = str(told["spec"])
        """What the engine's program is told of it."""
        self.slots = int(told["slots"])
        self.busy = self.sent = self.done = self.streak = 0
        self.rests_until = 0.0
        self.back = 0
        self.why: Dict[str, int] = {}

    def has_room(self, now: float) -> bool:
        """One that failed gets a single compile after its rest, and more only once it has done it."""
        return now >= self.rests_until and self.busy < (1 if self.streak else self.slots)

    def note(self, why: str) -> None:
        """One came back, and why."""
        self.back += 1
        _count(self.why, _words(why))


class Pool:
    """The machines of one build."""

    def __init__(self, told: Dict[str, Any]) -> None:
        """Nobody has been asked yet.

        Args:
            told: ``program``, which stands before a compiler that compiles elsewhere; ``environ``, what it
                must have in its environment; ``variable``, the one that names a machine to it; ``hosts``, a
                list of ``name``, ``spec`` and ``slots``.
        """
        self.program = str(told.get("program", ""))
        """What stands before a compiler."""
        self.environ = {str(name): str(value) for name, value in told.get("environ", {}).items()}
        """What it needs."""
        self._variable = str(told.get("variable", ""))
        self._hosts = [_Host(host) for host in told.get("hosts", ())]
        self.stayed: Dict[str, int] = {}
        """Compiles that were never sent, by the launcher's word for the reason."""
        self.by: Dict[str, int] = {}
        """Compiles that each machine behind a scheduler did, where the engine counts them."""
        self.unserved = ""
        """Why nothing can be sent to machines that were named; empty where it can."""

    @property
    def slots(self) -> int:
        """Compiles that all of them do at once."""
        return sum(host.slots for host in self._hosts)

    def take(self, now: float) -> Optional[str]:
        """A machine that has room, by name: the one with the largest part free; None where there is none."""
        free = [host for host in self._hosts if host.has_room(now)]
        if not free:
            return None
        host = max(free, key=lambda host: (host.slots - host.busy) / host.slots)
        host.busy += 1
        host.sent += 1
        return host.name

    def staying(self, why: str) -> str:
        """Note why a compile is never sent, in the launcher's word; nothing of one that may be."""
        if why:
            _count(self.stayed, why[:_LONGEST_WHY])
        return why

    def order(self, name: str) -> str:
        """What the launcher is told of a machine: a variable for the engine's program."""
        return "%s=%s" % (self._variable, self._host(name).spec)

    def done(self, name: str) -> None:
        """It has compiled what it was sent."""
        host = self._host(name)
        host.busy -= 1
        host.done += 1
        host.streak, host.rests_until = 0, 0.0

    def left(self, name: str) -> None:
        """Who waited for it is gone: nothing is known of the machine."""
        self._host(name).busy -= 1

    def refused(self, name: str, why: str) -> None:
        """It does not take this one source, and is well."""
        host = self._host(name)
        host.busy -= 1
        host.streak, host.rests_until = 0, 0.0
        host.note(why)

    def failed(self, name: str, why: str, now: float) -> bool:
        """It did not answer, or broke off. Whether that is news of it."""
        host = self._host(name)
        host.busy -= 1
        host.note(why)
        if now < host.rests_until:  # one of several that were under way
            return False
        host.rests_until = now + min(_REST_S * 2**host.streak, _LONGEST_REST_S)
        host.streak += 1
        return host.streak == 1

    def told(self) -> Dict[str, Any]:
        """What became of it, for the report."""
        hosts = {
            host.name: {
                "sent": host.sent,
                "done": host.done,
                "back": host.back,
                "why": host.why,
            }
            for host in self._hosts
        }
        told = {"hosts": hosts, "stayed": self.stayed, "by": self.by}
        return {**told, "unserved": self.unserved} if self.unserved else told

    def _host(self, name: str) -> _Host:
        return next(host for host in self._hosts if host.name == name)


def _words(why: str) -> str:
    """Without the number of the process that said it."""
    return re.sub(r"\[[0-9]+\]", "", why)[:_LONGEST_WHY]


def _count(words: Dict[str, int], word: str) -> None:
    """One more; code of the build may say what it likes, and not without bound."""
    name = word if word in words or len(words) < _MOST_WORDS else "something else"
    words[name] = words.get(name, 0) + 1
