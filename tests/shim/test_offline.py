"""The guard as a build meets it: real processes, real sockets, no network asked for in vain."""

from __future__ import annotations

import ctypes
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ELSEWHERE = "192.0.2.1"
KEEP_GOING = ("--keep-going",)
CONNECT = """
import errno, socket, sys
number = socket.socket(getattr(socket, sys.argv[3])).connect_ex((sys.argv[1], int(sys.argv[2])))
print(errno.errorcode.get(number, number))
"""
QUERY = (
    "import os, socket, struct\n"
    "query = struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + b'\\x04Late\\x07example\\0' + struct.pack('>HH', 1, 1)\n"
)


def test_an_address_is_told_with_the_process_that_asked(guard: Any) -> None:
    """A connect by address stops the build; address, process, directory and ancestors are on record."""
    done = guard.run(
        "/bin/sh", "-c", f'"$0" -c "$1" {ELSEWHERE} 443 AF_INET; echo on', sys.executable, CONNECT
    )

    assert done.code == 93
    assert b"on" not in done.out
    (record,) = done.records[1:]
    assert (record["kind"], record["what"]) == ("address", f"{ELSEWHERE}:443")
    assert record["argv"] == [sys.executable, "-c", CONNECT, ELSEWHERE, "443", "AF_INET"]
    assert record["cwd"] == str(Path.cwd())
    assert [item["argv"][0] for item in record["ancestors"]] == ["/bin/sh"]
    assert f"asked for {ELSEWHERE}:443" in done.err.decode()


@pytest.mark.parametrize(
    ("address", "family", "wanted"),
    [
        (ELSEWHERE, "AF_INET", f"{ELSEWHERE}:443"),
        ("2001:db8::1", "AF_INET6", "[2001:db8::1]:443"),
        (f"::ffff:{ELSEWHERE}", "AF_INET6", f"{ELSEWHERE}:443"),
    ],
)
def test_a_connect_fails_as_without_a_route(guard: Any, address: str, family: str, wanted: str) -> None:
    """Where the build goes on, a connect fails the way a machine without a network fails it."""
    done = guard.python_run(CONNECT, address, "443", family, options=KEEP_GOING)

    assert (done.code, done.out, done.asked) == (0, b"ENETUNREACH\n", [wanted])


def test_a_name_is_told_not_the_name_server(guard: Any) -> None:
    """A lookup by the C library, in a thread, is on record by the name that was looked up."""
    script = "import socket, threading\nt = threading.Thread(target=socket.getaddrinfo, args=('Pypi.example', 443))\nt.start()\nt.join()"

    done = guard.python_run(script)

    assert (done.code, done.asked) == (93, ["pypi.example"])
    assert done.records[1]["kind"] == "name"
    assert done.records[1]["argv"][-1] == script


@pytest.mark.parametrize(
    "send",
    [
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(query, ('192.0.2.53', 53))",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendmsg([query], [], 0, ('192.0.2.53', 53))",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.53', 53)); s.send(query)",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53)); os.write(s.fileno(), query)",
        "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.connect(('2001:db8::53', 53)); s.send(query)",
        "s = socket.create_connection(('192.0.2.53', 53)); s.sendall(struct.pack('>H', len(query)) + query); s.recv(9)",
    ],
    ids=["sendto", "sendmsg", "connect-send", "connect-write", "ipv6", "tcp"],
)
def test_every_way_to_ask_a_name_server_gives_the_name(guard: Any, send: str) -> None:
    """Resolvers of other C libraries and languages, which send otherwise, are understood too."""
    done = guard.python_run(QUERY + send)

    assert (done.code, done.asked) == (93, ["late.example"])


def test_a_name_server_that_is_asked_nothing_counts_by_its_address(guard: Any) -> None:
    """A program that only connects to a name server, to learn which way leads out, is stopped too."""
    script = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53))"

    done = guard.python_run(script)

    assert (done.code, done.asked) == (93, ["192.0.2.53:53"])


def test_a_script_that_swallows_the_failure_is_stopped(guard: Any, tmp_path: Path) -> None:
    """``git clone … || true`` ends the build at that line, with the host and git's own process by name."""
    done = guard.run(
        "/bin/sh", "-c", "git clone https://example.invalid/x || true; echo rest > rest", cwd=tmp_path
    )

    assert (done.code, done.asked) == (93, ["example.invalid"])
    assert not (tmp_path / "rest").exists()
    record = done.records[1]
    assert any(item["argv"][:2] == ["git", "clone"] for item in record["ancestors"])


def test_a_password_in_a_url_is_not_on_record(guard: Any, tmp_path: Path) -> None:
    """The record names who asked, without the token that its arguments carry."""
    done = guard.run("git", "clone", "https://user:hunter2@example.invalid/x", cwd=tmp_path)

    assert done.asked == ["example.invalid"]
    assert "hunter2" not in str(done.records)


def test_nothing_that_was_started_goes_on(guard: Any, tmp_path: Path) -> None:
    """What the build had in the background is ended with it, also where it left its session."""
    script = f"setsid sleep 98765 & echo $! > pid; getent hosts later.example; : > {tmp_path}/on; wait"

    done = guard.run("/bin/sh", "-c", script, cwd=tmp_path)

    assert done.code == 93
    assert not (tmp_path / "on").exists()
    pid = int((tmp_path / "pid").read_text(encoding="ascii"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_command_leaves_running_ends_with_it(guard: Any, tmp_path: Path) -> None:
    """A daemon that a command starts does not outlive the command."""
    done = guard.run("/bin/sh", "-c", "setsid sleep 98765 > /dev/null 2>&1 & echo $! > pid", cwd=tmp_path)

    assert (done.code, done.asked) == (0, [])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="ascii")), 0)


LOOPBACK = """
import socket, threading
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.create_server((host, 0), family=family)
    threading.Thread(target=lambda s=server: s.accept()[0].sendall(b"tcp")).start()
    client = socket.create_connection(server.getsockname()[:2])
    assert client.recv(3) == b"tcp"
one, other = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
one.bind(("127.0.0.1", 0))
other.sendto(b"udp", one.getsockname())
assert one.recv(3) == b"udp"
server = socket.socket(socket.AF_UNIX)
server.bind("socket")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("socket")
a, b = socket.socketpair()
a.sendmsg([b"pair"])
assert b.recv(4) == b"pair"
print(socket.getaddrinfo("localhost", 1)[0][4][0] in ("127.0.0.1", "::1"), socket.getfqdn() != "")
"""


def test_loopback_and_local_sockets_work(guard: Any, tmp_path: Path) -> None:
    """A build's own servers, job servers and the machine's own name go on as ever."""
    done = guard.python_run(LOOPBACK, cwd=tmp_path)

    assert (done.code, done.out, done.asked) == (0, b"True True\n", []), done.err


@pytest.fixture
def service() -> Iterator[Path]:
    """A socket of the machine, outside of what is a build's own."""
    try:
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
    except OSError as error:
        pytest.skip(str(error))
    with folder as name, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{name}/s")
        server.listen()
        yield Path(name, "s")


REACH = """
import os, socket, sys
sys.stdout.reconfigure(line_buffering=True)
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[3]))
print(s.connect_ex(sys.argv[2]) if sys.argv[3] == "SOCK_STREAM" else s.sendto(b"x", sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("directory", "path"),
    [
        ("/", "{at}"),
        ("/", "{at}".replace("{", "/{")),
        ("/", ".{at}"),
        ("{folder}", "s"),
        ("/", "/proc/self/root{at}"),
        ("/", "/proc/thread-self/root{at}"),
        ("/proc/self", "root{at}"),
        ("/", "/tmp/..{at}"),
        ("/tmp", "..{at}"),
        ("/", "{link}"),
    ],
)
def test_a_service_of_the_machine_is_out_of_reach(
    guard: Any, tmp_path: Path, service: Path, directory: str, path: str
) -> None:
    """Socket files lead past a network namespace: by whatever path, it is told where they lie."""
    link = tmp_path / "l"
    link.symlink_to(service)
    names = {"at": service, "folder": service.parent, "link": link}

    done = guard.python_run(REACH, directory.format(**names), path.format(**names), "SOCK_STREAM")

    assert (done.code, done.out, done.asked) == (93, b"", [str(service)])
    assert done.records[1]["kind"] == "service"


def test_a_service_is_not_reached_through_a_mount(guard: Any, service: Path) -> None:
    """A build that may mount cannot show a service at a place that is its own."""
    script = (
        'd=$(mktemp -d) && mount --bind "$0" "$d" || exit 77; exec "$1" -I -S -c "$2" / "$d/s" SOCK_STREAM'
    )
    user = ("unshare", "--user", "--map-root-user", "--mount")

    done = guard.run(*user, "/bin/sh", "-c", script, str(service.parent), sys.executable, REACH)

    if done.code in (1, 77) and not done.asked:
        pytest.skip(f"no mounts here: {done.err!r}")
    assert (done.code, done.out, len(done.asked)) == (93, b"", 1)


def test_a_service_that_goes_on_looks_as_if_nobody_listened(guard: Any, service: Path) -> None:
    """Where the build is not stopped, the connection is refused, and a datagram too."""
    for kind in ("SOCK_STREAM", "SOCK_DGRAM"):
        done = guard.python_run(REACH, "/", str(service), kind, options=KEEP_GOING)
        assert (b"111" in done.out + done.err, done.asked) == (True, [str(service)])


def test_a_service_that_is_not_there_is_not_asked_for(guard: Any) -> None:
    """A program that looks whether a service runs may go on without it."""
    done = guard.python_run(REACH, "/", "/run/nothing/here.sock", "SOCK_STREAM")

    assert (done.code, done.out, done.asked) == (0, b"2\n", [])


def test_what_a_c_library_asks_by_itself_is_not_told(guard: Any) -> None:
    """The machine's log, by its own path, is out of reach and no reason to stop."""
    path = Path("/run/systemd/torchbuild-test.sock")
    server = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(exist_ok=True)
        server.bind(str(path))
    except PermissionError:
        pytest.skip("only root may make a socket below /run")
    with server:
        server.listen()
        done = guard.python_run(REACH, "/", str(path), "SOCK_STREAM")
    path.unlink()

    assert (done.code, done.out, done.asked) == (0, b"111\n", [])


RACE = """
import ctypes, socket, struct, sys, threading
libc = ctypes.CDLL(None)
def name(path):
    return (struct.pack("=H", socket.AF_UNIX) + path.encode()).ljust(110, b"\\0")
good, bad = name(sys.argv[1]), name(sys.argv[2])
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(100)
held = ctypes.create_string_buffer(good, 110)
done = False
def flip():
    while not done:
        ctypes.memmove(held, bad, 110)
        ctypes.memmove(held, good, 110)
thread = threading.Thread(target=flip)
thread.start()
reached = set()
for _ in range(300):
    client = socket.socket(socket.AF_UNIX)
    if libc.connect(client.fileno(), held, 110) == 0:
        reached.add(client.getpeername())
        if client.getpeername() == sys.argv[1]:
            server.accept()[0].close()
    client.close()
done = True
thread.join()
print(reached == {sys.argv[1]})
"""


def test_an_address_that_changes_under_our_eyes_leads_nowhere(
    guard: Any, tmp_path: Path, service: Path
) -> None:
    """The call ends where we looked, not where another thread of the caller points it afterwards."""
    own = str(tmp_path / "s")

    done = guard.python_run(RACE, own, str(service), options=KEEP_GOING)

    assert (done.code, done.out) == (0, b"True\n"), done.err
    assert done.asked == [str(service)]  # or the race was none


CONNECTIONS = """
import socket, sys, threading
server = socket.socket(socket.AF_UNIX)
server.bind("s")
server.listen(0)
held = []
def ask():
    client = socket.socket(socket.AF_UNIX)
    client.connect("s")
    held.append(client)
threads = [threading.Thread(target=ask) for _ in range(20)]
for thread in threads: thread.start()
waiting, answer = 20, 0
while answer != 11:
    quick = socket.socket(socket.AF_UNIX)
    quick.setblocking(False)
    answer = quick.connect_ex("s")
    waiting += answer == 0
for _ in range(waiting): server.accept()
for thread in threads: thread.join()
print(socket.socket(socket.AF_UNIX).connect_ex("x" * 107), len(held))
"""


def test_a_connection_that_waits_holds_up_no_other(guard: Any, tmp_path: Path) -> None:
    """A server may be slow to take connections; others go on, and what must not wait does not."""
    done = guard.python_run(CONNECTIONS, cwd=tmp_path)

    assert (done.code, done.out) == (0, b"2 20\n"), done.err


# --- the guard itself is out of reach -----------------------------------------------------------------------

OF_THE_GUARD = """
import ctypes, os, resource, signal, sys, threading
guard = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
def outcome(what):
    try:
        answer = what()
    except OSError as error:
        return error.errno
    return ctypes.get_errno() if answer == -1 else "done"
buffer = ctypes.create_string_buffer(64)
part = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)
print(*(outcome(what) for what in (
    lambda: os.readlink("/proc/%d/fd/0" % guard),
    lambda: open("/proc/%d/mem" % guard, "rb"),
    lambda: libc.ptrace(16, guard, 0, 0),
    lambda: libc.ptrace(0x4206, guard, 0, 0),
    lambda: libc.process_vm_readv(guard, part, 1, part, 1, 0),
    lambda: libc.syscall(438, libc.syscall(434, guard, 0), 3, 0),
    lambda: libc.syscall(424, libc.syscall(434, guard, 0), 19, 0, 0),
    lambda: os.kill(guard, signal.SIGSTOP),
    lambda: os.kill(guard, signal.SIGKILL),
    lambda: libc.syscall({"x86_64": 200, "aarch64": 130}[os.uname().machine], guard, 9),
    lambda: libc.syscall({"x86_64": 234, "aarch64": 131}[os.uname().machine], guard, guard, 9),
    lambda: resource.prlimit(guard, resource.RLIMIT_NOFILE, (3, 3)),
)))
sys.stdout.flush()
import socket
socket.getaddrinfo("after.example", 1)
"""


@pytest.mark.parametrize("user", [(), ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")])
def test_no_process_of_the_build_reaches_the_guard(guard: Any, tmp_path: Path, user: tuple[str, ...]) -> None:
    """Its memory, descriptors, threads and life are its own: nobody answers for it that all is well."""
    if user and (os.geteuid() != 0 or subprocess.run([*user, "/bin/true"], check=False).returncode):
        pytest.skip("only root may become another user")
    if user:
        for folder in (guard.top, *guard.top.parents):
            folder.chmod(folder.stat().st_mode | 0o55) if folder != Path("/") else None
    record = guard.top / "record.jsonl"
    record.write_text("", encoding="utf-8")
    record.chmod(0o666)
    python = "/usr/bin/python3" if user else sys.executable

    done = subprocess.run(
        [*user, *type(guard)(guard.top, python).argv(python, "-I", "-S", "-c", OF_THE_GUARD)],
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == b"13 13 1 1 1 38 38 1 1 1 1 1\n", done.stderr
    assert done.returncode == 93
    assert '"what": "after.example"' in record.read_text(encoding="utf-8")


FAMILIES = """
import errno, os, socket
def outcome(*arguments):
    try:
        socket.socket(*arguments).close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "made"
print(*(outcome(*arguments) for arguments in ((17, 3, 768), (40, 1), (43, 1), (38, 5), (2, 10, 768), (16, 3), (1, 1), (2, 2))))
"""


def test_only_sockets_with_addresses_that_are_understood_are_made(guard: Any) -> None:
    """Raw packets, a virtual machine's host, and TCP by another name are no way out."""
    done = guard.python_run(FAMILIES)

    assert done.out == b"EAFNOSUPPORT " * 5 + b"made made made\n", done.err


def test_any_number_of_lookups_is_no_download(guard: Any) -> None:
    """A build may look up its own machine as often as it likes, in as many processes."""
    query = "q = struct.pack('>HHHHHH', 1, 256, 1, 0, 0, 0) + b'\\x09localhost\\0' + struct.pack('>HH', 1, 1)"
    script = f"""
import os, socket, struct, sys
{query}
def ask():
    s = socket.socket(type=socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(q)
    return s.recv(500)
for number in range(100):
    ask()
    if os.fork() == 0:
        ask()
        os._exit(0)
    os.wait()
print("done")
"""
    done = guard.python_run(script)

    assert (done.code, done.out, done.asked) == (0, b"done\n", []), done.err


def test_many_programs_that_go_on_may_look_up_each(guard: Any) -> None:
    """Programs that live on after their question was answered do not use up what others need."""
    script = """
import os, socket, struct
q = struct.pack('>HHHHHH', 1, 256, 1, 0, 0, 0) + b'\\x09localhost\\0' + struct.pack('>HH', 1, 1)
hold, held = os.pipe()
for number in range(150):
    ready, told = os.pipe()
    if os.fork() == 0:
        os.close(held)
        s = socket.socket(type=socket.SOCK_DGRAM)
        s.connect(("127.0.0.53", 53))
        s.send(q)
        s.recv(500)
        os.write(told, b"x")
        os.read(hold, 1)
        os._exit(0)
    os.read(ready, 1)
    os.close(ready); os.close(told)
print("done")
"""
    done = guard.python_run(script)

    assert (done.code, done.out, done.asked) == (0, b"done\n", []), done.err


def test_a_question_after_many_answers_is_told(guard: Any) -> None:
    """The same program that may ask for its own machine may not ask for another."""
    script = "import socket\nfor n in range(80): socket.getaddrinfo('h%d.localhost' % n, 80)\nsocket.getaddrinfo('late.example', 80)"

    done = guard.python_run(script)

    assert (done.code, done.asked) == (93, ["late.example"])


def test_what_a_command_writes_into_the_record_does_not_stay(guard: Any) -> None:
    """A command that empties the record, or adds to it, has changed nothing when it has ended."""
    script = "import os, sys; f = open(sys.argv[1], 'r+'); f.truncate(); f.write('{}\\n' * 1000); print(os.path.getsize(sys.argv[1]))"

    done = guard.python_run(script, str(guard.top / "record.jsonl"))

    assert [record["event"] for record in done.records] == ["guard"]


BARE = """
import os, sys
print(sys.argv, os.getcwd(), os.umask(0), sorted(os.environb.items()), sys.stdin.read())
print(sorted(os.listdir("/proc/self/fd")), [l for l in open("/proc/self/status") if l.startswith(("SigBlk", "SigIgn", "SigCgt"))])
sys.stderr.write("to stderr")
sys.exit(7)
"""


def test_a_command_that_asks_for_nothing_is_the_same(guard: Any, tmp_path: Path) -> None:
    """Streams, arguments, environment, directory, mask, descriptors, signals and exit code: all unchanged."""
    argv = [sys.executable, "-I", "-S", "-c", BARE, "a b", "", "\udcff"]
    how: Any = {"input": b"from stdin", "cwd": tmp_path, "env": {"X": "\udcfe", "LC_ALL": "C"}}
    bare = subprocess.run(argv, capture_output=True, check=False, **how)

    done = guard.run(*argv, **how)

    assert (done.code, done.out, done.err) == (7, bare.stdout, bare.stderr)


def test_descriptors_are_handed_on(guard: Any) -> None:
    """A job server's pipe, inherited by number, is there for the command."""
    reader, writer = os.pipe()
    os.write(writer, b"+")
    os.close(writer)

    done = guard.python_run(f"import os; print(os.read({reader}, 9))", pass_fds=(reader,))
    os.close(reader)

    assert done.out == b"b'+'\n"


def test_a_terminal_is_handed_on(guard: Any) -> None:
    """A command in the guard owns the terminal as it would without."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        guard.argv("/bin/sh", "-c", "test -t 0 && test -t 1 && read line && echo got $line"),
        stdin=follower,
        stdout=follower,
        start_new_session=True,
    ) as process:
        os.close(follower)
        os.write(leader, b"word\n")
        seen = b""
        while b"got word" not in seen:
            seen += os.read(leader, 100)
        assert process.wait() == 0
    os.close(leader)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL, signal.SIGABRT])
def test_a_signal_that_ends_the_command_is_passed_on(guard: Any, number: signal.Signals) -> None:
    """Whoever waits for the guard sees the command's own signal."""
    done = guard.python_run("import os, sys; os.kill(os.getpid(), int(sys.argv[1]))", str(int(number)))

    assert done.code == -number


def test_a_termination_reaches_the_command(guard: Any) -> None:
    """SIGTERM is the command's to obey: it may still put things in order."""
    script = 'trap "echo in order; exit 5" TERM; echo up; while :; do sleep 0.05; done'
    with subprocess.Popen(guard.argv("/bin/sh", "-c", script), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.stdout.readline() == b"in order\n"
        assert process.wait() == 5


def test_a_termination_that_another_thread_takes_reaches_the_command(guard: Any) -> None:
    """The kernel may give a signal to any thread: the one that sleeps hears of it all the same."""
    script = 'trap "echo in order; exit 5" TERM; echo up; while :; do sleep 0.05; done'
    with subprocess.Popen(guard.argv("/bin/sh", "-c", script), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            pass
        _, *others = sorted(int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir())
        ctypes.CDLL(None).tgkill(process.pid, others[0], int(signal.SIGTERM))
        assert process.stdout.readline() == b"in order\n"
        assert process.wait() == 5


@pytest.mark.parametrize(("program", "code"), [("/nonexistent/x", 127), ("/etc/hostname", 126)])
def test_a_program_that_cannot_start_is_told_as_such(guard: Any, program: str, code: int) -> None:
    """A missing program is on record, apart from a program that failed."""
    done = guard.run(program)

    assert done.code == code
    assert done.records[1] == {"event": "not-started", "program": program, "error": done.records[1]["error"]}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--", "/bin/true"],
        ["--record=x"],
        ["--record=x", "--bad", "--", "x"],
        ["--record=x", "--relay=host", "--", "x"],
    ],
)
def test_a_wrong_call_is_refused(guard: Any, arguments: list[str]) -> None:
    """Whoever starts the guard wrongly hears of it, and nothing runs."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(guard.top), *arguments], capture_output=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"torchbuild: ")


def test_the_oldest_interpreter_runs_it(guard: Any) -> None:
    """A build for Python 3.8 is guarded by Python 3.8."""
    found = sorted(Path("/root/.pyenv/versions").glob("3.8.*/bin/python3.8")) if os.geteuid() == 0 else []
    if not found:
        pytest.skip("no Python 3.8 here")

    done = type(guard)(guard.top, str(found[0])).run("getent", "hosts", "old.example")

    assert (done.code, done.asked) == (93, ["old.example"])


# --- where the kernel does not tell -----------------------------------------------------------------------

REFUSE_FILTERS = """
import os, sys
sys.path.insert(0, sys.argv[1])
from struct import pack
from torchbuild_shim.seccomp import install, native
number = native(os.uname().machine)[0].seccomp
install(b"".join(pack("=HBBI", *line) for line in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000))), number, listen=False)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_second_guard_makes_no_internet_socket_at_all(guard: Any) -> None:
    """Where the kernel tells nobody of calls, and no namespace is around, sockets are refused: the fallback."""
    script = CONNECT.replace("socket.socket", "print('made'), socket.socket")
    own = guard.top / "inner.jsonl"
    inner = guard.argv(
        sys.executable, "-I", "-S", "-c", script, "127.0.0.1", "9", "AF_INET", options=("--alone",)
    )

    done = guard.run(*(f"--record={own}" if item.startswith("--record") else item for item in inner))

    assert '"watch": "deny"' in own.read_text(encoding="utf-8")
    assert b"Network is unreachable" in done.err
    assert done.asked == []


def test_a_command_is_not_started_where_nothing_can_be_refused(guard: Any, tmp_path: Path) -> None:
    """Neither a namespace nor a filter: the command would have a network, so it does not run."""
    made = tmp_path / "made"
    inner = guard.argv("/usr/bin/touch", str(made), options=("--alone",))

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", REFUSE_FILTERS, str(guard.top), *inner], check=False, timeout=60
    )

    assert done.returncode == 94
    assert not made.exists()


def test_in_a_namespace_a_command_runs_without_a_filter(guard: Any) -> None:
    """Where a namespace keeps the command from the network, a kernel without filters only costs the names."""
    inner = guard.argv("/bin/echo", "ran")

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", REFUSE_FILTERS, str(guard.top), *inner],
        check=False,
        timeout=60,
        capture_output=True,
    )

    assert (done.returncode, done.stdout) == (0, b"ran\n")
    assert '"watch": "none"' in (guard.top / "record.jsonl").read_text(encoding="utf-8").splitlines()[-1]


# --- the relay ----------------------------------------------------------------------------------------------


@pytest.fixture
def cache_server(tmp_path: Path) -> Iterator[Path]:
    """A socket file behind which a cache server answers each connection with what it was sent, in capitals."""
    path = tmp_path / "relay.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(connection.recv(100).upper())

    thread = threading.Thread(target=serve)
    thread.start()
    yield path
    server.shutdown(socket.SHUT_RDWR)
    thread.join()
    server.close()


ASK_CACHE = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b"hello")
print(s.recv(100))
"""


@pytest.mark.parametrize("host", ["cache.example", "192.0.2.9"])
def test_a_named_endpoint_is_reached_through_the_relay(guard: Any, cache_server: Path, host: str) -> None:
    """A compiler cache that the recipe names answers, by its own name or address and port."""
    done = guard.python_run(ASK_CACHE, host, "6379", options=(f"--relay={host}:6379={cache_server}",))

    assert (done.code, done.out, done.asked) == (0, b"b'HELLO'\n", []), done.err


def test_another_port_of_a_named_endpoint_is_not_reached(guard: Any, cache_server: Path) -> None:
    """A named endpoint is host and port; the host's other ports are elsewhere."""
    done = guard.python_run(ASK_CACHE, "192.0.2.9", "80", options=(f"--relay=192.0.2.9:6379={cache_server}",))

    assert (done.code, done.asked) == (93, ["192.0.2.9:80"])
