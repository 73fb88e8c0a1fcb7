"""Runs a command that may not use a network, and stops it with the name of what it wanted where it tries.

``python -I guard --record=FILE [--alone] [--keep-going] [--relay=HOST:PORT=PATH]… -- ARGV``

A network namespace alone only makes a download fail, and a script may swallow that. Here every call that
names an address waits until the guard has looked at it: loopback and the build's own sockets go on; a name
server is replaced by one that tells the name; the rest is written to FILE with the process that asked, and
everything that the command started is ended. The command is otherwise left as it is: streams, terminal,
directory, environment, descriptors, exit code and signals. What it leaves running ends with it.

FILE gets one JSON object a line: first how the command is watched (``notify``, ``deny``, ``none``), then
what was asked for. ``--alone`` says that no network namespace is around: where the kernel tells nobody of a
call no Internet socket is made at all, and where it filters nothing the command is not started.
"""

import _thread
import contextlib
import errno
import json
import os
import resource
import select
import signal
import struct
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from .asker import descendants
from .behalf import can_connect, connect, is_blocking, process_of, socket_of
from .behind import GuardedCommand
from .notices import Destination, Notice, answer, destinations, finish, receive, rewrite, waits
from .relay import Endpoint, Relay, parse_endpoint
from .sinkholes import Sinkholes
from .ways import Way, Ways, asker

__all__ = ["ASKED", "NOT_GUARDED", "main"]

ASKED = 93
"""Exit code where the command asked for a network."""
NOT_GUARDED = 94
"""Exit code where nothing would have kept the command from the network; it was not started."""
_NOT_FOUND, _NOT_RUNNABLE, _USAGE = 127, 126, 2
_SUBREAPER = 36
_PATIENCE_S = 10.0


class _Options(NamedTuple):
    record: str
    alone: bool
    keep_going: bool
    endpoints: List[Endpoint]
    argv: List[str]


class _Stop(Exception):  # noqa: N818  the build is stopped: no error of ours
    """The command asked for a network."""


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command; its exit code, or one of ours. Ends by the signal that ended the command."""
    try:
        options = _parse(list(sys.argv[1:] if arguments is None else arguments))
    except ValueError as error:
        sys.stderr.write("torchbuild: %s\n" % error)
        return _USAGE
    return _Guard(options).run()


def _parse(arguments: List[str]) -> _Options:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, argv = arguments[:cut], arguments[cut + 1 :]
    record, endpoints, flags = "", [], set()
    for option in options:
        name, _, value = option.partition("=")
        if name == "--record":
            record = value
        elif name == "--relay":
            endpoints.append(parse_endpoint(value))
        elif option in ("--alone", "--keep-going"):
            flags.add(option)
        else:
            raise ValueError("%s: no option of the guard" % option)
    if not record or not argv:
        raise ValueError("usage: guard --record=FILE [options] -- ARGV")
    return _Options(record, "--alone" in flags, "--keep-going" in flags, endpoints, argv)


class _Guard:
    """Looks at every call that names an address."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._command = GuardedCommand(options.argv, alone=options.alone, tell=self._tell_watch)
        # Held from the start: what the command may lay in its place is not written to.
        self._file = os.open(options.record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lines: List[bytes] = []
        relays = [Relay(endpoint, number) for number, endpoint in enumerate(options.endpoints)]
        addresses = {relay.endpoint.host: relay.address for relay in reversed(relays)}
        self._sinkholes = Sinkholes(addresses, denies=options.keep_going)
        self._ways = Ways(relays, self._sinkholes, alone=options.alone)
        self._connects = can_connect()
        self._told: Set[Tuple[int, str]] = set()

    def run(self) -> int:
        _adopt_orphans()
        self._pass_signals_on()
        self._command.start()
        self._command.started.wait()
        if self._command.failure is not None:
            return self._not_started(self._command.failure)
        if not self._command.pid:
            return NOT_GUARDED
        try:
            self._look()
            self._look_back()
            self._end_all()
        except _Stop:
            self._end_all()
            return ASKED
        finally:
            self._write_anew()
        return _leave(self._command.status)

    def _tell_watch(self, watch: str, why: str) -> None:
        self._write({"event": "guard", "watch": watch, "why": why})

    def _not_started(self, failure: OSError) -> int:
        program = self._options.argv[0]
        self._write({"event": "not-started", "program": program, "error": failure.strerror or str(failure)})
        sys.stderr.write("torchbuild: %s: %s\n" % (program, failure.strerror or failure))
        return _NOT_FOUND if failure.errno == errno.ENOENT else _NOT_RUNNABLE

    def _pass_signals_on(self) -> None:
        """What a terminal sends reaches the command without us; a SIGTERM is meant for it."""
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda _number, _frame: None)
        if signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
            signal.signal(signal.SIGTERM, lambda number, _frame: self._command.send(number))
        # A handler runs in our first thread. That may be about to sleep, or another be given the signal.
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    # --- looking ---------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Until the command has ended."""
        while True:
            ready = self._ready(None)
            if self._command.listener in ready and self._command.listener:
                self._take_call()
            self._take_questions(ready)
            if self._command.ended in ready:
                return

    def _ready(self, timeout_ms: Optional[int]) -> List[int]:
        poll = select.poll()
        poll.register(self._command.ended, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        if self._command.listener:
            poll.register(self._command.listener, select.POLLIN)
        for descriptor in self._sinkholes.descriptors():
            poll.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll(timeout_ms)]
        if self._woken in ready:
            os.read(self._woken, 4096)
        return ready

    def _look_back(self) -> None:
        """A question may lie there still; who went to a name server and asked nothing wanted its address."""
        self._take_questions(self._ready(0))
        for origin in self._sinkholes.unasked():
            self._record(origin.asker, "address", origin.text, origin.text)

    def _take_questions(self, ready: List[int]) -> None:
        for origin, name in self._sinkholes.taken(ready):
            self._record(origin.asker, "name", name, origin.text)

    def _take_call(self) -> None:
        notice = receive(self._command.listener)
        if notice is None:
            return
        try:
            found = destinations(notice)
        except (OSError, struct.error) as error:
            self._refuse_unread(notice, error)
            return
        if not waits(self._command.listener, notice):
            return
        if self._connects and found and found[0].connects:
            self._connect(notice, found[0])
        else:
            self._let_go_on(notice, found)

    def _refuse_unread(self, notice: Notice, error: Exception) -> None:
        number = errno.EFAULT
        if isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.ENOENT, errno.ESRCH):
            number = error.errno
        if isinstance(error, PermissionError):
            text = "an address that nobody may read"
            self._record(asker(notice.pid), "address", text, text)
            number = errno.ENETUNREACH
        answer(self._command.listener, notice, number)

    def _connect(self, notice: Notice, destination: Destination) -> None:
        """Connect for the caller, to where we looked: what it names by then does not matter."""
        listener = self._command.listener
        try:
            held = socket_of(process_of(notice.pid), destination.descriptor)
        except OSError as error:
            answer(listener, notice, error.errno or errno.EBADF)
            return
        way = Way(errno.EINTR)
        if waits(listener, notice):
            way = self._way(notice, destination)
        files = [held] if way.file is None else [held, way.file]
        if way.error:
            _close(files)
            answer(listener, notice, way.error)
            return

        def end() -> None:
            error = connect(held, way.address or destination.address)
            _close(files)
            finish(listener, notice, error)

        if is_blocking(held):  # it may wait as long as its caller would; the kernel signals our first thread
            _thread.start_new_thread(end, ())
        else:
            end()

    def _let_go_on(self, notice: Notice, found: List[Destination]) -> None:
        """Let the kernel do it, with the caller's memory as it is by then."""
        for destination in found:
            way = self._way(notice, destination)
            if way.file is not None:
                os.close(way.file)
            error = way.error
            # The path of a socket file is left as it is: another one may not fit in its place.
            if not error and way.address and way.file is None:
                error = _led(notice, destination, way.address)
            if error:
                answer(self._command.listener, notice, error)
                return
        answer(self._command.listener, notice)

    def _way(self, notice: Notice, destination: Destination) -> Way:
        way = self._ways.of(notice.pid, destination)
        if way.wanted:
            self._record(asker(notice.pid), way.kind, way.wanted, way.wanted)
        return way

    # --- telling and ending ----------------------------------------------------------------------------

    def _record(self, who_asked: Dict[str, Any], kind: str, what: str, where: str) -> None:
        if (who_asked["pid"], what) in self._told:  # a name is asked for twice: for each kind of address
            return
        self._told.add((who_asked["pid"], what))
        self._write({"event": "asked", "kind": kind, "what": what, "where": where, **who_asked})
        who = " ".join(who_asked["argv"])
        sys.stderr.write("torchbuild: no network here: %s asked for %s\n" % (who or "a process", what))
        sys.stderr.flush()
        if not self._options.keep_going:
            raise _Stop

    def _write(self, item: Dict[str, Any]) -> None:
        self._lines.append((json.dumps(item, sort_keys=True) + "\n").encode("ascii"))
        os.write(self._file, self._lines[-1])

    def _write_anew(self) -> None:
        """What the command wrote into our file, or took from it, does not stay: by now it has ended."""
        os.ftruncate(self._file, 0)
        os.write(self._file, b"".join(self._lines))

    def _end_all(self) -> None:
        """End what the command started, as often as it starts more."""
        for _ in range(int(_PATIENCE_S / 0.02)):
            left = descendants(os.getpid())
            # Stopped first, all of them: a script must not see its child die and go on.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in left:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
            if self._command.empty.wait(0.02):
                return


def _led(notice: Notice, destination: Destination, address: bytes) -> int:
    try:
        rewrite(notice, destination.at, address)
    except OSError:
        return errno.ENETUNREACH
    return 0


def _close(files: List[int]) -> None:
    for file in files:
        os.close(file)


def _adopt_orphans() -> None:
    """What the command leaves becomes our child: it stays ours to look at, and to end."""
    with contextlib.suppress(ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _leave(status: int) -> int:
    """Its exit code; where a signal ended it the same one ends us, without a second core."""
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    return 128 + number  # a namespace's first process cannot end so
