"""Stands beside ninja while it works: serves the tokens, and lets compilers in as memory allows.

Every compiler is started by ``launch`` (see ``launch.c``), which asks here first. A compiler that waits hands
its token on, so that others work meanwhile, and has one again before it starts: never do more jobs run than
there are tokens. What was killed is run again, alone, once. Tokens that went with a client that was killed
come back. Where other machines compile for us (see `Pool`), who may go to them goes, and its token is handed
on too: here it only waits. What they do not compile is compiled here, admitted like all else.
"""

import contextlib
import json
import os
import selectors
import signal
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Set

from .admission import Edge, Ledger, Peaks
from .audit import Audit
from .budget import Budget
from .clients import Asked, Client, most_clients, number, read_question
from .jobserver import Jobserver
from .live import Live
from .pool import Pool
from .processes import Processes, look
from .socket_folder import SocketFolder
from .stopping import Stopping

__all__ = ["SOCKET", "Supervisor"]

SOCKET = "TORCHBUILD_SUPERVISOR"
"""The variable that names our socket."""
AWAY = "TORCHBUILD_AWAY"
"""The variable that names what stands before a compiler whose work is done elsewhere."""
_OWN_CODE = 100
"""From here on exit codes are those of the program that sends work away, not a compiler's."""
_SLOW_S, _FAST_S, _IDLE_S = 0.5, 0.15, 1.0
"""Between looks: usually, where memory is scarce or somebody waits, and where nothing compiles."""
_STOPPING_S = 0.05
"""The same where the build ends before its end."""
_FRESH_S = 0.1
_LOGGED = 160
_MOST_ASKED = 1 << 16


class Supervisor(threading.Thread):
    """Serves until it is stopped."""

    def __init__(
        self,
        jobs: int,
        build_dir: str,
        told: Dict[str, Any],
        learned: str,
        *,
        stop_mark: str = "",
        live: Optional[Live] = None,
        pool: Optional[Pool] = None,
    ) -> None:
        """Make pipe and socket; nothing is served yet.

        Args:
            jobs: tokens: what may run here.
            build_dir: what outputs are named relative to.
            told: what compilers are expected to take, see `Peaks`.
            learned: a file that gets a line for each compiler that took something else.
            stop_mark: a file; where it is there, the build ends with what runs.
            live: gets what runs at each moment; None where nobody watches.
            pool: machines that compile for us.
        """
        super().__init__(daemon=True)
        self._place = SocketFolder()
        self._listener = self._place.listener
        self.folder = self._place.path
        """Where pipe and socket are, and what else lives as long as we do."""
        self.jobserver = Jobserver(self.folder, jobs)
        self._audit = Audit(self.jobserver, self._say)
        self._build_dir = os.path.realpath(build_dir)
        self._peaks, self._ledger, self._budget = Peaks(told), Ledger(jobs), Budget()
        self._room, self._looked = self._budget.room(), time.monotonic()
        self._total = self._room.available
        self._learned = open(learned, "a", encoding="utf-8")
        self._live, self._seen = live, Processes([])
        self._wake = os.pipe()
        self._clients: List[Client] = []
        self._most = most_clients()
        self._by_edge: Dict[int, Client] = {}
        self._is_over = False
        self._counts = dict.fromkeys(("admitted", "waited", "evicted", "rerun", "lost", "blind"), 0)
        self.asked: Set[str] = set()
        """Outputs, absolute, whose compiler asked: what a cache had did not."""
        self._pool = pool or Pool({})
        self.stopping = Stopping(stop_mark)
        """Whether it shall end before its end."""
        self.ninja = 0
        """Process of the ninja that works for us."""
        self.server = 0
        """Process of a cache's server that starts compilers; 0 for none."""

    # --- for who starts it -----------------------------------------------------------------------------

    def environ(self, launcher: str) -> Dict[str, str]:
        """What ninja, and all below it, must have in its environment."""
        told = {"MAKEFLAGS": self.jobserver.makeflags(), SOCKET: self._place.ask}
        if os.access(launcher, os.X_OK):
            # a compiler cache calls what stands there only where it has nothing
            told["CCACHE_PREFIX"] = (launcher + " " + os.environ.get("CCACHE_PREFIX", "")).strip()
            if self._pool.slots:
                told.update(self._pool.environ)
                told[AWAY] = self._pool.program
        return told

    def stop(self) -> Dict[str, int]:
        """End it, and tell what was done; `clear` is left to do."""
        self._is_over = True
        os.write(self._wake[1], b"x")
        self.join()
        if self._live is not None:
            self._live.end()
        told = {"edges_" + name: count for name, count in self._counts.items()}
        told.update(
            jobs=self.jobserver.jobs,
            tokens_exceeded=self._audit.exceeded,
            tokens_recovered=self.jobserver.recovered,
            memory_available_bytes=self._total,
        )
        return told

    def clear(self) -> None:
        """Remove pipe and socket, and what else lies beside them."""
        self._place.clear()

    # --- serving ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve. What goes wrong here ends the build: launchers are refused, and say so."""
        try:
            self._serve()
        finally:
            for client in self._clients:
                client.link.close()
            self._listener.close()
            self._learned.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._wake[0], selectors.EVENT_READ)
            self._ready = ready
            while not self._is_over:
                for key, _ in ready.select(self._interval()):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.data, Client):
                        self._hear(key.data)
                self._look()
                self._stop()
                self._admit()
                if self._live is not None and self._live.is_due(time.monotonic()):
                    self._tell(self._live, self._seen)  # not before: who asks is let in first

    def _stop(self) -> None:
        """Where somebody asked for it, let what runs end, and nothing begin."""
        is_new = bool(self.ninja) and self.stopping.is_new()
        if not self.stopping.is_asked:
            return
        seen, waiting = look(), self._ledger.waiting
        self.jobserver.withhold()
        if is_new:
            never = {self._by_edge[id(edge)].stands for edge in waiting if not edge.has_run}
            count = self.stopping.begin(seen, self.ninja, never)
            self._say("stopping, as asked: %d that run are finished, and nothing begins" % count)
        for edge in list(waiting):
            if not self.stopping.may_run(seen, self._by_edge[id(edge)].stands, has_run=edge.has_run):
                waiting.remove(edge)  # its launcher waits for the end
        self.stopping.go_on(seen, self.ninja)

    def _interval(self) -> float:
        if self.stopping.is_asked:
            return _STOPPING_S
        if not self._by_edge:
            return _IDLE_S
        is_scarce = self._room.available < 4 * self._room.reserve
        return _FAST_S if is_scarce or self._ledger.waiting else _SLOW_S

    def _accept(self) -> None:
        while len(self._clients) < self._most:
            try:
                link, _ = self._listener.accept()
            except OSError:  # there is none any more
                return
            link.setblocking(False)
            client = Client(link)
            self._clients.append(client)
            self._ready.register(link, selectors.EVENT_READ, client)
            self._hear(client)  # most have spoken by now
        for client in [client for client in self._clients if client.edge is None]:
            self._leave(client)  # what says nothing is no launcher
        if len(self._clients) >= self._most:  # those behind them wait until one leaves
            self._ready.unregister(self._listener)

    def _hear(self, client: Client) -> None:
        try:
            got = client.link.recv(65536)
            for words in client.lines(got):
                self._obey(client, words)
        except BlockingIOError:
            return
        except (OSError, ValueError, IndexError):  # it is gone, or no launcher
            got = b""
        if not got:
            self._leave(client)

    def _leave(self, client: Client) -> None:
        """It is gone: with its work done, or killed."""
        if client not in self._clients:
            return
        if client.edge is not None:
            if client.edge.host:
                self._pool.left(client.edge.host)
            self._forget(client.edge)
        self._ready.unregister(client.link)
        self._clients.remove(client)
        client.link.close()
        if self._listener not in self._ready.get_map():
            self._ready.register(self._listener, selectors.EVENT_READ)

    def _forget(self, edge: Edge) -> None:
        self._ledger.over(edge)
        self._by_edge.pop(id(edge), None)

    def _obey(self, client: Client, words: List[str]) -> None:
        word, rest = words[0], words[1:]
        if word == "ask" and client.edge is None:
            self._ask(client, rest)
        elif client.edge is not None and client.edge in self._ledger.away:
            self._obey_away(client, client.edge, words)
        elif client.edge is None or client.edge not in self._ledger.running:
            raise ValueError("no launcher says so now")
        elif word == "killed":
            self._killed(client, client.edge, number(rest[0]) * 1024)
        elif word == "end":
            self._end(client.edge, number(rest[0]) * 1024, rest[1])

    def _obey_away(self, client: Client, edge: Edge, words: List[str]) -> None:
        """Of a launcher whose compiler works elsewhere."""
        if words[0] == "back":
            self._back(edge, number(words[1]), words[2])
        elif words[0] != "end":
            raise ValueError("no launcher says so now")
        else:
            settled = self._pool.done if words[2] == "0" else self._pool.left  # ended by who stops the build
            settled(edge.host)
            edge.host = ""
            self._answer(client, b"k")
            self._forget(edge)

    def _ask(self, client: Client, words: List[str]) -> None:
        asked = read_question(words, self._build_dir, self.ninja, self.server)
        is_claimed = any(other.pid == asked.pid for other in self._by_edge.values())
        client.pid = 0 if is_claimed else asked.pid
        client.stands = asked.client or client.pid
        peak = self._peaks.predicted(asked.name, asked.program, asked.threads)
        client.edge = Edge(asked.name, peak, time.monotonic(), asked.threads, is_blind=asked.is_blind)
        self._note(asked)
        client.edge.is_guess = self._peaks.is_guess(asked.name, asked.program)
        if self._pool.slots:
            client.edge.stays = self._pool.staying(asked.stays)
        self._by_edge[id(client.edge)] = client
        self._ledger.waiting.append(client.edge)
        self._stop()
        self._admit()
        if client.edge in self._ledger.waiting:
            self._counts["waited"] += 1
        self._lend()

    def _note(self, asked: Asked) -> None:
        """For the counts, and for who tells misses of a cache from hits."""
        self._counts["blind"] += asked.is_blind
        if self.server and not asked.is_blind and len(self.asked) < _MOST_ASKED:
            self.asked.add(os.path.join(self._build_dir, asked.name))

    def _killed(self, client: Client, edge: Edge, peak: int) -> None:
        counted = "evicted" if edge.is_evicted else "rerun"
        if self._ledger.killed(edge, peak, time.monotonic()):
            self._counts[counted] += 1
            self._say("%s was killed; it is run again%s" % (edge.name, " alone" if edge.is_alone else ""))
            self._lend()
            return
        self._counts["lost"] += 1
        size = max(peak, edge.most) >> 20
        self._say("%s was killed twice, the second time alone, with %d MiB" % (edge.name, size))
        self._answer(client, b"f")

    def _back(self, edge: Edge, code: int, why: str) -> None:
        """It was sent away and did not become an object there: a compiler's own words are heard here."""
        host, now = edge.host, time.monotonic()
        if 0 < code < _OWN_CODE:
            edge.stays = "failed elsewhere"
            self._pool.refused(host, "exit code %d of the compiler" % code)
        elif self._pool.failed(host, why or "exit code %d" % code, now):
            self._say("%s compiles nothing more for now: %s" % (host, why or "exit code %d" % code))
        self._ledger.returned(edge, now)
        self._admit()
        self._lend()

    def _end(self, edge: Edge, peak: int, code: str) -> None:
        peak = max(peak, edge.most)
        if code == "0" and not edge.is_blind and self._peaks.learn(edge.name, peak):
            self._learned.write(json.dumps({"edge": edge.name, "bytes": peak}) + "\n")
            self._learned.flush()
        self._forget(edge)

    # --- deciding --------------------------------------------------------------------------------------

    def _admit(self) -> None:
        if self._ledger.waiting and time.monotonic() - self._looked > _FRESH_S:
            self._look(now=True)
        for edge in self._ledger.sent(self._room, lambda: self._pool.take(time.monotonic())):
            self._hand_on(edge)
            order = "d%s\n" % self._pool.order(edge.host)
            self._answer(self._by_edge[id(edge)], os.fsencode(order))
        for edge in self._ledger.admitted(self._room, time.monotonic(), self._has_token):
            self._counts["admitted"] += 1
            self._answer(self._by_edge[id(edge)], b"r")
        while self.jobserver.lent > self._ledger.owed and self.jobserver.take_back():
            pass

    def _has_token(self, edge: Edge) -> bool:
        """Its own; or the one that it lent; or that of another that waits and has not lent its own.

        What was handed on by one that has ended is nobody's own: it is taken back through who asks next.
        Where the build stops, those that never begin have enough of them.
        """
        if self.jobserver.lent > self._ledger.owed:
            edge.is_lent = True
        has_room = self.stopping.is_asked and len(self._ledger.running) < self.jobserver.jobs
        if edge.is_lent and not has_room and not self.jobserver.take_back():
            other = next((item for item in reversed(self._ledger.waiting) if not item.is_lent), None)
            if other is None:
                return False
            other.is_lent = True
        edge.is_lent = False
        return True

    def _lend(self) -> None:
        away = sum(edge.is_lent for edge in self._ledger.away)
        most = min(max(8, 2 * self.jobserver.jobs), self._ledger.idle) + away
        for edge in self._ledger.waiting:
            if self.jobserver.lent < most:
                self._hand_on(edge)  # never where the build stops

    def _hand_on(self, edge: Edge) -> None:
        """Its token: while it waits, or is compiled elsewhere, another may work here."""
        if not edge.is_lent and not self.stopping.is_asked:
            edge.is_lent = self.jobserver.lent > self._ledger.owed or self.jobserver.lend()

    def _answer(self, client: Client, text: bytes) -> None:
        with contextlib.suppress(OSError):  # it is gone: its end will be heard
            client.link.send(text)

    # --- looking ---------------------------------------------------------------------------------------

    def _look(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._looked < self._interval():
            return
        free, seen = self.jobserver.free(), look()
        self._seen, self._room, self._looked = seen, self._budget.room(), time.monotonic()
        self._ledger.measured(lambda edge: 0 if edge.is_blind else seen.resident(self._by_edge[id(edge)].pid))
        victim = self._ledger.to_evict(self._room)
        if victim is not None:
            victim.is_evicted = True
            for process in list(seen.below(self._by_edge[id(victim)].pid)):
                with contextlib.suppress(OSError):
                    os.kill(process.pid, signal.SIGKILL)
        if not now and self.ninja and not self.stopping.is_asked:
            self._audit.look(seen, self.ninja, self._looked, free)

    def _tell(self, live: Live, seen: Processes) -> None:
        """What runs now, for whoever watches."""
        waiting, jobs = self._ledger.waiting, self.jobserver.jobs
        asked = {client.stands: client.edge for client in self._by_edge.values() if client.edge is not None}
        taken = jobs - 1 + self.jobserver.lent - self.jobserver.free() - self._ledger.owed
        busy = taken + bool(asked or seen.children(self.ninja))  # one runs without a token
        live.tell(
            seen,
            self.ninja,
            asked,
            waiting,
            tokens=max(0, min(busy, jobs)),
            jobs=jobs,
            memory=self._room.total - self._room.available,
            memory_total=self._room.total,
        )

    def _say(self, text: str) -> None:
        sys.stderr.write("torchbuild: %s\n" % text[:_LOGGED])
        sys.stderr.flush()
