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
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Optional

from .admission import Edge, Ledger, Peaks
from .budget import Budget
from .jobserver import Jobserver
from .pool import Pool
from .processes import Processes, look

__all__ = ["SOCKET", "Supervisor"]

SOCKET = "TORCHBUILD_SUPERVISOR"
"""The variable that names our socket."""
AWAY = "TORCHBUILD_AWAY"
"""The variable that names what stands before a compiler whose work is done elsewhere."""
_OWN_CODE = 100
"""From here on exit codes are those of the program that sends work away, not a compiler's."""
_LONGEST_PATH = 90
_SLOW_S, _FAST_S, _IDLE_S = 0.5, 0.15, 1.0
"""Between looks: usually, where memory is scarce or somebody waits, and where nothing compiles."""
_FRESH_S = 0.1
_LOOKS = 6
"""A token counts as lost where it was missing in so many looks in a row."""
_CLIENTS = ("make", "gmake", "ninja", "cargo")
"""Programs that take tokens, by the beginning of their names."""
_LOGGED = 160


class _Client:
    """A launcher that is connected."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.heard = b""
        self.edge: Optional[Edge] = None
        self.pid = 0
        """As it says itself: who connected may have been a guard, on its behalf."""


class Supervisor(threading.Thread):
    """Serves until it is stopped."""

    def __init__(
        self, jobs: int, build_dir: str, told: Dict[str, Any], learned: str, pool: Optional[Pool] = None
    ) -> None:
        """Make pipe and socket; nothing is served yet.

        Args:
            jobs: tokens: what may run here.
            build_dir: what outputs are named relative to.
            told: what compilers are expected to take, see `Peaks`.
            learned: a file that gets a line for each compiler that took something else.
            pool: machines that compile for us.
        """
        super().__init__(daemon=True)
        self._folder = tempfile.mkdtemp(prefix="tb-")
        if len(self._folder) > _LONGEST_PATH:  # a socket's path must be short
            os.rmdir(self._folder)
            self._folder = tempfile.mkdtemp(prefix="tb-", dir="/tmp")
        self.jobserver = Jobserver(self._folder, jobs)
        self._build_dir = os.path.realpath(build_dir)
        self._peaks, self._ledger, self._budget = Peaks(told), Ledger(), Budget()
        self._room, self._looked = self._budget.room(), time.monotonic()
        self._total = self._room.available
        self._learned = open(learned, "a", encoding="utf-8")
        self._path = os.path.join(self._folder, "ask")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self._path)
        self._listener.listen(128)
        self._listener.setblocking(False)
        self._wake = os.pipe()
        self._clients: Dict[int, _Client] = {}
        self._by_edge: Dict[int, _Client] = {}
        self._missing: List[int] = []
        self._is_over = False
        self._counts = dict.fromkeys(("admitted", "waited", "evicted", "rerun", "lost"), 0)
        self._pool = pool or Pool({})
        self.ninja = 0
        """Process of the ninja that works for us."""

    # --- for who starts it -----------------------------------------------------------------------------

    def environ(self, launcher: str) -> Dict[str, str]:
        """What ninja, and all below it, must have in its environment."""
        told = {"MAKEFLAGS": self.jobserver.makeflags(), SOCKET: self._path}
        if os.access(launcher, os.X_OK):
            # a compiler cache calls what stands there only where it has nothing
            told["CCACHE_PREFIX"] = (launcher + " " + os.environ.get("CCACHE_PREFIX", "")).strip()
            if self._pool.slots:
                told.update(self._pool.environ)
                told[AWAY] = self._pool.program
        return told

    def stop(self) -> Dict[str, int]:
        """End it, remove pipe and socket, and tell what was done."""
        self._is_over = True
        os.write(self._wake[1], b"x")
        self.join()
        shutil.rmtree(self._folder, ignore_errors=True)
        told = {"edges_" + name: count for name, count in self._counts.items()}
        told.update(
            jobs=self.jobserver.jobs,
            tokens_recovered=self.jobserver.recovered,
            memory_available_bytes=self._total,
        )
        return told

    # --- serving ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve. What goes wrong here ends the build: launchers are refused, and say so."""
        try:
            self._serve()
        finally:
            for client in list(self._clients.values()):
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
                    elif isinstance(key.data, _Client):
                        self._hear(key.data)
                self._look()
                self._admit()

    def _interval(self) -> float:
        if not self._by_edge:
            return _IDLE_S
        is_scarce = self._room.available < 4 * self._room.reserve
        return _FAST_S if is_scarce or self._ledger.waiting else _SLOW_S

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                link, _ = self._listener.accept()
                link.setblocking(False)
                client = _Client(link)
                self._clients[link.fileno()] = client
                self._ready.register(link, selectors.EVENT_READ, client)
                self._hear(client)  # most have spoken by now

    def _hear(self, client: _Client) -> None:
        try:
            got = client.link.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        client.heard += got
        try:
            while b"\n" in client.heard:
                line, client.heard = client.heard.split(b"\n", 1)
                self._obey(client, os.fsdecode(line).split("\t"))
        except (ValueError, IndexError):  # it is no launcher
            got = b""
        if not got:
            self._leave(client)

    def _leave(self, client: _Client) -> None:
        """It is gone: with its work done, or killed."""
        if client.edge is not None:
            if client.edge.host:
                self._pool.left(client.edge.host)
            self._forget(client.edge)
        self._ready.unregister(client.link)
        del self._clients[client.link.fileno()]
        client.link.close()

    def _forget(self, edge: Edge) -> None:
        self._ledger.over(edge)
        self._by_edge.pop(id(edge), None)

    def _obey(self, client: _Client, words: List[str]) -> None:
        word, rest = words[0], words[1:]
        if word == "ask" and len(rest) in (6, 7) and client.edge is None:
            self._ask(client, rest)
        elif word == "back" and client.edge is not None and client.edge.host:
            self._back(client.edge, int(rest[0]), rest[1])
        elif word == "killed" and client.edge is not None:
            self._killed(client, client.edge, int(rest[0]) * 1024)
        elif word == "end" and client.edge is not None:
            self._end(client.edge, int(rest[0]) * 1024, rest[1])

    def _ask(self, client: _Client, words: List[str]) -> None:
        pid, threads, codes, program, folder, output, *stays = words
        client.pid = int(pid)
        several = int(codes) if codes.isdigit() else 0
        wanted = int(threads) if threads.isdigit() else 1
        name = os.path.join(folder, output)
        if name.startswith(self._build_dir + os.sep):
            name = name[len(self._build_dir) + 1 :]
        at_once = min(wanted or several, several)
        peak = self._peaks.predicted(name, os.path.basename(program), at_once)
        client.edge = Edge(name, peak, time.monotonic())
        if self._pool.slots and stays:
            client.edge.stays = stays[0]
            if stays[0]:
                self._pool.stayed[stays[0]] = self._pool.stayed.get(stays[0], 0) + 1
        self._by_edge[id(client.edge)] = client
        self._ledger.waiting.append(client.edge)
        self._admit()
        if client.edge in self._ledger.waiting:
            self._counts["waited"] += 1
        self._lend()

    def _killed(self, client: _Client, edge: Edge, peak: int) -> None:
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
        if edge.host:
            self._pool.done(edge.host)
            edge.host = ""
            self._answer(self._by_edge[id(edge)], b"k")
            self._forget(edge)
            return
        peak = max(peak, edge.most)
        if code == "0" and self._peaks.learn(edge.name, peak):
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
        """
        if self.jobserver.lent > self._ledger.owed:
            edge.is_lent = True
        if edge.is_lent and not self.jobserver.take_back():
            other = next((item for item in reversed(self._ledger.waiting) if not item.is_lent), None)
            if other is None:
                return False
            other.is_lent = True
        edge.is_lent = False
        return True

    def _lend(self) -> None:
        most = max(8, 2 * self.jobserver.jobs) + len(self._ledger.away)
        for edge in self._ledger.waiting:
            if self.jobserver.lent < most:
                self._hand_on(edge)

    def _hand_on(self, edge: Edge) -> None:
        """Its token: while it waits, or is compiled elsewhere, another may work here."""
        if not edge.is_lent:
            if self.jobserver.lent <= self._ledger.owed:
                self.jobserver.lend()
            edge.is_lent = True

    def _answer(self, client: _Client, text: bytes) -> None:
        with contextlib.suppress(OSError):  # it is gone: its end will be heard
            client.link.send(text)

    # --- looking ---------------------------------------------------------------------------------------

    def _look(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._looked < self._interval():
            return
        seen = look()
        self._room, self._looked = self._budget.room(), time.monotonic()
        self._ledger.measured(lambda edge: seen.resident(self._by_edge[id(edge)].pid))
        victim = self._ledger.to_evict(self._room)
        if victim is not None:
            victim.is_evicted = True
            for process in list(seen.below(self._by_edge[id(victim)].pid)):
                with contextlib.suppress(OSError):
                    os.kill(process.pid, signal.SIGKILL)
        if not now:
            self._audit(seen)

    def _audit(self, seen: Processes) -> None:
        """Tokens that nobody has and nobody uses, look after look, went with a client that was killed."""
        if not self.ninja:
            return
        used = len(seen.children(self.ninja))
        for process in seen.below(self.ninja):
            if process.name.startswith(_CLIENTS):
                used += max(0, len(seen.children(process.pid)) - 1)
        total = self.jobserver.jobs + self.jobserver.lent
        self._missing = [*self._missing[1 - _LOOKS :], total - used - self.jobserver.free()]
        if len(self._missing) == _LOOKS:
            lost, spare = min(self._missing), max(self._missing)
            if lost > 0 or spare < 0:
                self.jobserver.settle(lost if lost > 0 else spare)
                self._missing = []

    def _say(self, text: str) -> None:
        sys.stderr.write("torchbuild: %s\n" % text[:_LOGGED])
        sys.stderr.flush()
