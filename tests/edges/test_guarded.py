"""Commands without a network, in real namespaces, beside a guard."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.edges.guarded import GUARD_FOLDER, GuardedExecutor
from torchbuild.errors import HostError, StageError
from torchbuild.model.command import Command

PYTHON = str(Path(sys.executable).resolve())
"""An environment below a temporary directory is not there for a command; what its interpreter leads to is."""


class Place:
    """A guarded executor of this machine, what it warned of and where it works."""

    def __init__(self, top: Path, make: Callable[..., GuardedExecutor], **more: str) -> None:
        self.top = top
        self.warned: list[str] = []
        self.executor = make(top, warn=self.warned.append, **more)

    def shell(self, script: str) -> tuple[int, tuple[str, ...]]:
        """Run a script in the build; its exit code and lines."""
        command = Command(argv=("/bin/sh", "-c", script), environ=(("PATH", "/usr/bin:/bin"),))
        done = self.executor.run(command, log=self.top / "log")
        return done.exit_code, done.tail


@pytest.fixture
def place(tmp_path: Path, make_guarded: Callable[..., GuardedExecutor]) -> Place:
    """With the interpreter of these tests."""
    return Place(tmp_path, make_guarded)


def test_a_swallowed_download_stops_the_build(place: Place) -> None:
    """The script would go on; the build does not, and the error names the host and git's own process."""
    with pytest.raises(StageError) as caught:
        place.shell("git clone https://example.invalid/x || true; touch /torchbuild/on")

    assert caught.value.reference == "network-asked"
    assert "example.invalid" in caught.value.what
    assert any("git-remote-https origin https://example.invalid/x" in line for line in caught.value.why)
    assert not (place.top / "root/on").exists()


def test_the_next_command_starts_afresh(place: Place) -> None:
    """What one command asked for is not held against the next."""
    with pytest.raises(StageError):
        place.shell("getent hosts a.example")

    assert place.shell("echo fine; exit 3") == (3, ("fine",))
    assert place.warned == []


def test_exit_codes_and_signals_come_through(place: Place) -> None:
    """Also the guard's own number, where it is the command's."""
    assert [place.shell(script)[0] for script in ("exit 93", "exit 0", "kill -9 $$")] == [93, 0, 137]


def test_a_missing_program_is_told_as_such(place: Place) -> None:
    """Not as a command that failed, and not as a missing guard."""
    with pytest.raises(HostError) as caught:
        place.executor.run(Command(argv=("{work}/nothing",)), log=place.top / "log")

    assert (caught.value.reference, caught.value.what) == (
        "program-missing",
        "/torchbuild/nothing: this program cannot be started",
    )


def test_a_command_with_a_network_is_left_alone(place: Place) -> None:
    """Nothing is laid and nothing watched for it."""
    place.executor.run(Command(argv=("/bin/true",), network="host"), log=place.top / "log")

    assert not (place.top / "root" / GUARD_FOLDER).exists()


def test_an_interpreter_that_cannot_guard_is_refused(
    tmp_path: Path, make_guarded: Callable[..., GuardedExecutor]
) -> None:
    """A command whose guard never spoke does not count, even if it ended well."""
    with pytest.raises(HostError) as caught:
        Place(tmp_path, make_guarded, python="/bin/true").shell("exit 0")

    assert caught.value.reference == "guard-silent"


@pytest.mark.parametrize(
    "trick",
    [
        "rm {r}; ln -s /etc/hostname {r}",
        "rm {r}; mkfifo {r}",
        "rm {r}; mkdir {r}",
        "rm -r /torchbuild/guard; ln -s /etc /torchbuild/guard",
        "rm {r}",
        ": > {r}",
        """rm {r}; echo '{{"event":"guard","watch":"notify","why":""}}' > {r}""",
        """echo '{{"event":"asked","what":"forged.example"}}' >> {r}""",
    ],
)
@pytest.mark.parametrize("asks", [False, True])
def test_a_record_cannot_be_tampered_with(place: Place, trick: str, asks: bool) -> None:
    """What a build lays in its place, or writes into it, changes nothing; no link of its making is followed."""
    script = trick.format(r="/torchbuild/guard/offline.jsonl")
    if not asks:
        assert place.shell(f"{script}; exit 93")[0] == 93
        assert place.shell("exit 0")[0] == 0
        return
    with pytest.raises(StageError) as caught:
        place.shell(f"{script}; getent hosts a.example; sleep 9")

    assert caught.value.reference == "network-asked"
    assert "a.example" in caught.value.what


SILENT = """#!/bin/sh
echo "torchbuild: no network here: curl a.example asked for a.example"
exit 93
"""


@pytest.mark.parametrize(
    ("script", "wanted"),
    [(SILENT, "a.example"), ("#!/bin/sh\nexit 93\n", "something; what it was is not on record")],
)
def test_a_guard_that_stopped_a_build_is_believed_without_its_record(
    tmp_path: Path, make_guarded: Callable[..., GuardedExecutor], script: str, wanted: str
) -> None:
    """Its exit code alone means that a network was asked for; the name is what it said aloud."""
    place = Place(tmp_path, make_guarded, python="/torchbuild/python")
    (tmp_path / "root/python").write_text(script, encoding="utf-8")
    (tmp_path / "root/python").chmod(0o755)

    with pytest.raises(StageError) as caught:
        place.shell("exit 0")

    assert caught.value.reference == "network-asked"
    assert f"asked the network for {wanted} and" in caught.value.what


@pytest.mark.parametrize(
    "trick",
    [
        "echo 'import os, sys; os.execv(sys.argv[-3], sys.argv[-3:])' > /torchbuild/guard/__main__.py",
        "echo 'raise SystemExit(0)' > /torchbuild/guard/json.py",
        "echo 'main = int' > /torchbuild/guard/torchbuild_shim/offline.py",
        "mkdir /torchbuild/guard/ctypes; echo 'raise SystemExit(0)' > /torchbuild/guard/ctypes/__init__.py",
        "cd /torchbuild/guard; mv __main__.py /torchbuild/mine; ln -s /torchbuild/mine __main__.py",
    ],
)
def test_a_command_cannot_lay_a_guard_for_the_next(place: Place, trick: str) -> None:
    """Whatever a command writes into the guard, the next command is guarded by ours."""
    assert place.shell(trick)[0] == 0

    with pytest.raises(StageError) as caught:
        place.shell("getent hosts a.example; exit 0")

    assert caught.value.reference == "network-asked"


def test_the_guard_is_laid_once(place: Place) -> None:
    """Between commands that leave it alone its files stay as they are."""
    place.shell("exit 0")
    first = (place.top / "root" / GUARD_FOLDER / "__main__.py").stat()
    place.shell("exit 0")

    assert (place.top / "root" / GUARD_FOLDER / "__main__.py").stat().st_ino == first.st_ino


def test_a_link_in_the_guards_place_is_not_followed(place: Place) -> None:
    """What an earlier build left there cannot lead our files out of the build."""
    outside = place.top / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (place.top / "root" / GUARD_FOLDER).symlink_to(outside)

    assert place.shell("exit 0")[0] == 0
    assert [item.name for item in outside.iterdir()] == ["precious"]


def test_the_rest_is_the_others(place: Place) -> None:
    """Name, variables, copies and shells are as without a guard."""
    (place.top / "file").write_text("x", encoding="utf-8")
    place.executor.put(place.top / "file", "{work}/file")
    place.executor.get("{work}/file", place.top / "back")

    assert place.executor.name == "local"
    assert place.executor.environment() == {}
    assert (place.top / "back").read_text(encoding="utf-8") == "x"
    assert place.executor.shell(Command(argv=("/bin/sh", "-c", "exit 4"))) == 4


NO_NETWORK_NAMESPACES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from torchbuild.edges.guarded import GuardedExecutor
from torchbuild.edges.local import LocalExecutor
from torchbuild.errors import TorchbuildError
from torchbuild.model.command import Command

if "filters" in sys.argv[4]:
    from struct import pack
    from torchbuild.shim.seccomp import install, native
    from os import uname
    number = native(uname().machine)[0].seccomp
    install(b"".join(pack("=HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000))), number, listen=False)
top = Path(sys.argv[2])
local = LocalExecutor(root=top / "root", store=top / "store", cache=top / "cache")
executor = GuardedExecutor(local, python=os.path.realpath(sys.executable), root=top / "root", warn=lambda text: print("warned:", text),
                           despite_open_network="despite" in sys.argv[4])
command = Command(argv=("/bin/sh", "-c", sys.argv[3]), environ=(("PATH", "/usr/bin:/bin"),))
try:
    print(executor.run(command, log=top / "log").tail)
except TorchbuildError as error:
    print(error.reference, error.what)
"""
CONNECT = f"{PYTHON} -c \"import socket; socket.socket().connect(('192.0.2.1', 9))\" 2> /dev/null; echo on"

UDP = f"""exec {PYTHON} -I -S -c '
import socket
try:
    socket.socket(type=socket.SOCK_DGRAM)
except OSError as error:
    print(error.errno)
'"""
LOOPBACK = f"""exec {PYTHON} -I -S -c '
import os, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
print("own", client.getpeername() == server.getsockname())
print("other", socket.socket().connect_ex(("127.0.0.1", int(open("/torchbuild/port").read()))))
server = socket.socket(socket.AF_UNIX); server.bind(""); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(server.getsockname())
print("abstract own", True)
print("abstract other", socket.socket(socket.AF_UNIX).connect_ex("\\0torchbuild test outside"))
'"""


@pytest.mark.parametrize(
    ("kind", "script", "wanted"),
    [
        ("", "echo fine", ["('fine',)"]),
        ("", CONNECT, ["network-asked the build asked the network for 192.0.2.1:9 and was stopped there"]),
        (
            "",
            "getent hosts late.example; echo on",
            ["network-asked the build asked the network for late.example and was stopped there"],
        ),
        (
            "",
            UDP,
            ["('101',)"],
        ),
        (
            "",
            LOOPBACK,
            ["('own True', 'other 111', 'abstract own True', 'abstract other 111')"],
        ),
        (
            "no filters",
            "echo ran > /torchbuild/ran",
            ["network-not-isolated local: this machine can keep no command from its network"],
        ),
        (
            "no filters despite",
            "echo ran",
            ["warned: commands that must not have a network have this machine's, as asked for", "('ran',)"],
        ),
    ],
    ids=["harmless", "connect", "name", "datagrams", "loopback", "refused", "despite"],
)
def test_where_network_namespaces_are_refused_a_filter_takes_their_place(
    tmp_path: Path, kind: str, script: str, wanted: list[str]
) -> None:
    """The guard refuses every call by itself; where it cannot, nothing runs unless somebody answers for it."""
    (tmp_path / "script.py").write_text(NO_NETWORK_NAMESPACES, encoding="utf-8")
    (tmp_path / "root").mkdir()
    outside, abstract = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
    abstract.bind("\0torchbuild test outside")
    abstract.listen()
    (tmp_path / "root/port").write_text(str(outside.getsockname()[1]), encoding="ascii")
    # The limit is that of the user namespace made here: the machine keeps its own.
    shell = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    package = str(Path(__file__).parents[2])
    argv = [sys.executable, str(tmp_path / "script.py"), package, str(tmp_path), script, kind]
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "/bin/sh", "-c", shell, "sh", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    outside.close()
    abstract.close()
    if done.returncode != 0 and "unshare" in done.stderr.partition("\n")[0]:
        pytest.skip(f"no user namespaces here: {done.stderr}")

    assert done.stdout.splitlines() == wanted, done.stderr
    assert not (tmp_path / "root/ran").exists()
