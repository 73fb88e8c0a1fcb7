"""Looks after what nobody tells us: tokens that were lost, jobs beside the tokens, what stands still.

Said once each: a build that is slow, or uses more than it may, tells why.
"""

from typing import Callable, Dict, List, Set

from .jobserver import CLIENTS, Jobserver
from .processes import Process, Processes, command

__all__ = ["Audit"]

_LOST_LOOKS, _SPARE_LOOKS = 10, 6
"""What was seen in so many looks in a row is no moment between two states; a token too many is worse."""
_STILL_S = 10.0
_LONGEST = 60


class Audit:
    """Compares what runs with the tokens that there are."""

    def __init__(self, jobserver: Jobserver, say: Callable[[str], None]) -> None:
        """Nothing was seen yet.

        Args:
            jobserver: whose tokens are counted.
            say: takes a line for people.
        """
        self._jobserver, self._say = jobserver, say
        self.exceeded = 0
        """How often more jobs ran than there are tokens."""
        self._lost: List[int] = []
        self._spare: List[int] = []
        self._since: Dict[int, float] = {}
        self._told: Set[object] = set()

    def look(self, seen: Processes, ninja: int, now: float, free: int) -> None:
        """Take one look.

        Args:
            seen: what runs.
            ninja: process of the ninja that works for us.
            now: the time.
            free: tokens that nobody had just before: a look takes a while, and jobs begin and end in it.
        """
        below = list(seen.below(ninja))
        self._look_at_stopped(below, now)
        clients = [process for process in below if process.name.startswith(CLIENTS)]
        jobs = {client.pid: seen.jobs(client.pid) for client in clients}
        # each client has one job without a token, ninja also where it has none just now
        used = max(1, seen.jobs(ninja)) + sum(max(0, count - 1) for count in jobs.values())
        served = self._jobserver
        left, after = served.jobs + served.lent - used, served.free()
        self._lost = [*self._lost[1 - _LOST_LOOKS :], left - max(free, after)]
        self._spare = [*self._spare[1 - _SPARE_LOOKS :], left - min(free, after)]
        lost, spare = min(self._lost), max(self._spare)
        if len(self._lost) == _LOST_LOOKS and lost > 0:
            served.settle(lost)
            self._lost = []
        elif len(self._spare) == _SPARE_LOOKS and spare < 0:
            served.settle(spare)
            self._spare = []
            if clients:
                self._tell_of(max(clients, key=lambda client: jobs[client.pid]))

    def _tell_of(self, client: Process) -> None:
        self.exceeded += 1
        said = command(client.pid)[:_LONGEST] or client.name
        self._once(
            said,
            "`%s` starts jobs of its own beside the %d tokens: it is called with a -j of its own and not "
            "through PATH" % (said, self._jobserver.jobs),
        )

    def _look_at_stopped(self, below: List[Process], now: float) -> None:
        stopped = {process.pid: process for process in below if process.is_stopped}
        self._since = {pid: self._since.get(pid, now) for pid in stopped}
        for pid, since in self._since.items():
            if now - since > _STILL_S:
                self._once(
                    pid,
                    "process %d (%s) was stopped by a signal and holds up its edge; `kill -CONT %d` lets it "
                    "go on" % (pid, stopped[pid].name, pid),
                )

    def _once(self, key: object, text: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._say(text)
