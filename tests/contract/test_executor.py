"""One contract, every executor: what a stage may rely on, wherever its commands run."""

from __future__ import annotations

import os
import pty
import resource
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import torchbuild
from torchbuild.edges.apptainer import ApptainerExecutor
from torchbuild.edges.container import ContainerExecutor
from torchbuild.edges.engine import can_limit
from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.paused import PausedContainer
from torchbuild.edges.rootfs import RootfsExecutor
from torchbuild.edges.sandbox import CAPABILITIES
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.command import Command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.context import Completed, Executor

PACKAGE_ROOT = Path(torchbuild.__file__).parent.parent
PATH = (("PATH", "/usr/bin:/bin"),)

DRIVER = """
import sys
from pathlib import Path
from torchbuild.edges.apptainer import ApptainerExecutor
from torchbuild.edges.container import ContainerExecutor
from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.rootfs import RootfsExecutor
from torchbuild.model.artifact import ImageRef
from torchbuild.model.command import Command
kind, top, engine, image, verb, script = sys.argv[1:]
places = {name: Path(top, name) for name in ("root", "store", "cache")}
if kind == "local":
    executor = LocalExecutor(**places)
elif kind == "rootfs":
    executor = RootfsExecutor(image=Path(image), **places)
elif kind == "apptainer":
    image, directory = ImageRef(name="test", id="0" * 64), Path(image)
    executor = ApptainerExecutor(program=engine, image=image, directory=directory, **places)
else:
    executor = ContainerExecutor(engine=engine, image=ImageRef(name="test", id=image), **places)
command = Command(argv=("/bin/sh", "-c", script), environ=(("PATH", "/usr/bin:/bin"),))
if verb == "shell":
    sys.exit(executor.shell(command))
executor.run(command, log=Path(top, "driver.log"))
"""


class Bench:
    """An executor, its directories, and short ways to run something in it."""

    def __init__(self, kind: str, top: Path, engine: str, image: ImageRef) -> None:
        self.kind = kind
        self.top = top
        self.root, self.store, self.cache = top / "root", top / "store", top / "cache"
        self.log = top / "log"
        self._engine = engine
        self._image = image
        self.executor = self.make()

    def make(self, *, jobs: int | None = None, memory_gib: float | None = None) -> Executor:
        """An executor on the same directories."""
        places = {"root": self.root, "store": self.store, "cache": self.cache}
        if self.kind == "local":
            return LocalExecutor(**places, jobs=jobs, memory_gib=memory_gib)
        if self.kind == "rootfs":
            return RootfsExecutor(image=Path(self._image.id), **places, jobs=jobs, memory_gib=memory_gib)
        if self.kind == "apptainer":
            image, directory = ImageRef(name="small", id="0" * 64), Path(self._image.id)
            return ApptainerExecutor(
                program=self._engine,
                image=image,
                directory=directory,
                **places,
                jobs=jobs,
                memory_gib=memory_gib,
            )
        return ContainerExecutor(
            engine=self._engine, image=self._image, **places, jobs=jobs, memory_gib=memory_gib
        )

    def run(self, *argv: str, **fields: object) -> Completed:
        """Run an argv list."""
        return self.executor.run(Command.model_validate({"argv": argv, **fields}), log=self.log)

    def shell(self, script: str, **fields: object) -> Completed:
        """Run a constant script with the shell that is inside."""
        return self.run("/bin/sh", "-c", script, **{"environ": PATH, **fields})

    def drive(self, verb: str, script: str, **options: object) -> subprocess.Popen[bytes]:
        """Use an executor from another process, which can be killed."""
        words = [self.kind, str(self.top), self._engine, self._image.id, verb, script]
        environ = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)}
        return subprocess.Popen([sys.executable, "-c", DRIVER, *words], env=environ, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture(
    params=["local", "rootfs", "apptainer's stand-in", pytest.param("container", marks=pytest.mark.container)]
)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Each executor in turn."""
    if request.param == "local":
        return Bench("local", tmp_path, "none", ImageRef(name="none", id="0" * 64))
    if request.param == "rootfs":
        root = ImageRef.model_construct(name="small", id=str(request.getfixturevalue("small_root")))
        return Bench("rootfs", tmp_path, "none", root)
    if request.param == "apptainer's stand-in":
        root = ImageRef.model_construct(name="small", id=str(request.getfixturevalue("small_root")))
        return Bench("apptainer", tmp_path, stand_in(tmp_path / "bin"), root)
    return Bench("container", tmp_path, request.getfixturevalue("engine"), request.getfixturevalue("image"))


def stand_in(folder: Path) -> str:
    """A program that is called apptainer."""
    folder.mkdir()
    program = folder / "apptainer"
    script = Path(__file__).with_name("stand_in_apptainer.py")
    program.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGE_ROOT} exec {sys.executable} {script} "$@"\n')
    program.chmod(0o755)
    return str(program)


class Life:
    """Named pipes in the cache that tell when something inside has begun, and when all of it has ended."""

    BEGIN = "exec 3>/torchbuild/cache/life; echo up >&3;"

    def __init__(self, cache: Path) -> None:
        os.mkfifo(cache / "life")
        os.mkfifo(cache / "ready")
        self._reader = os.open(cache / "life", os.O_RDONLY | os.O_NONBLOCK)

    def has_begun(self) -> bool:
        """Whether something wrote into it; waits thirty seconds for that."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(30_000)) and os.read(self._reader, 100) == b"up\n"

    def has_ended(self) -> bool:
        """Whether there was something and nothing is left; waits thirty seconds for that."""
        poll = select.poll()
        poll.register(self._reader, 0)
        return bool(poll.poll(30_000))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._reader)


@pytest.fixture
def life(bench: Bench) -> Iterator[Life]:
    """A fresh one."""
    life = Life(bench.cache)
    yield life
    life.close()


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on this machine's loopback device."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# --- what a command is given ------------------------------------------------------------------------


def test_arguments_arrive_unchanged(bench: Bench) -> None:
    """Arguments reach the program as they are, whatever a shell would make of them."""
    odd = (
        "",
        "a b",
        "$HOME",
        "`id`",
        "'",
        '"',
        "a\nb",
        "*",
        "--",
        "-n",
        "é☃",
        "\\",
        "A=b",
        "{unknown}",
        "\t",
    )
    bench.run("/usr/bin/printf", "%s\\0", *odd)
    assert bench.log.read_bytes().decode() == "".join(f"{word}\0" for word in odd)


def test_placeholders_are_filled_in(bench: Bench) -> None:
    """A plan's placeholders are the paths that the build has."""
    bench.run("/usr/bin/printf", "%s\n", "{venv}/bin/python", "{store}", "{dist}")
    assert bench.log.read_text() == "/torchbuild/venv/bin/python\n/torchbuild/store\n/torchbuild/dist\n"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="none"),
        pytest.param({"A": "", "B": "x y\n=z", "É": "☃", "-X": "{work}", "PATH": "/nowhere"}, id="odd ones"),
    ],
)
def test_environment_is_exactly_what_is_given(bench: Bench, given: dict[str, str]) -> None:
    """A command sees its own variables and none of the caller's, the image's or the engine's."""
    bench.run("/usr/bin/env", "-0", environ=tuple(sorted(given.items())))
    seen = dict(pair.split("=", 1) for pair in bench.log.read_text().split("\0") if pair)
    assert seen == {name: value.replace("{work}", "/torchbuild") for name, value in given.items()}


def test_directory_is_the_commands(bench: Bench) -> None:
    """A command starts in its directory."""
    (bench.root / "source").mkdir()
    assert bench.run("/bin/pwd", "-P", cwd="{source}").tail == ("/torchbuild/source",)


def test_directory_is_the_fixed_path_by_default(bench: Bench) -> None:
    """Every build happens at one path, whatever its workspace is called."""
    assert bench.run("/bin/pwd", "-P").tail == ("/torchbuild",)


def test_workspace_is_seen_from_both_sides(bench: Bench) -> None:
    """What a command makes at the fixed path lies in the workspace, and the other way round."""
    (bench.root / "in").write_text("from outside\n")
    done = bench.shell("cat in; echo from inside >out")
    assert (done.tail, (bench.root / "out").read_text()) == (("from outside",), "from inside\n")


def test_user_is_the_one_who_owns_the_results(bench: Bench) -> None:
    """In an image a command is root, whoever builds; on the machine's own files it is the caller."""
    expected = os.geteuid() if bench.kind == "local" else 0
    assert bench.run("/usr/bin/id", "-u").tail == (str(expected),)


def test_rights_are_those_of_a_container(bench: Bench) -> None:
    """A root inside has its files' rights, and none over mounts, devices, networks or other processes."""
    done = bench.run("/bin/cat", "/proc/self/status")
    (line,) = [line for line in done.tail if line.startswith("CapEff:")]
    rights = int(line.split()[1], 16)
    assert {number for number in range(64) if rights >> number & 1} <= set(CAPABILITIES.values())


LIMITS = {
    "Max core file size": ["0", "0"],
    "Max open files": ["1024", "4096"],
    "Max processes": ["16384", "16384"],
    "Max stack size": ["8388608", "67108864"],
}


@pytest.fixture
def odd_shell() -> Iterator[None]:
    """A caller who has changed their own limits, as far as anybody can for a while."""
    wanted = {resource.RLIMIT_NOFILE: 777, resource.RLIMIT_STACK: 1 << 22, resource.RLIMIT_NPROC: 20_000}
    before = {number: resource.getrlimit(number) for number in wanted}
    for number, soft in wanted.items():
        resource.setrlimit(number, (soft, before[number][1]))
    yield
    for number, limits in before.items():
        resource.setrlimit(number, limits)


@pytest.mark.usefixtures("odd_shell")
def test_limits_are_the_same_everywhere(bench: Bench) -> None:
    """Open files, stack, processes and core files are limited alike, whatever the caller's shell says."""
    bench.run("/bin/cat", "/proc/self/limits")
    lines = bench.log.read_text().splitlines()
    seen = {line[:26].strip(): line[26:].split()[:2] for line in lines}
    assert {name: seen[name] for name in LIMITS} == LIMITS


def test_machine_has_one_name_everywhere(bench: Bench) -> None:
    """A build that writes the machine's name into a file is the same on every machine."""
    assert bench.run("/bin/cat", "/proc/sys/kernel/hostname").tail == ("localhost",)


# --- how it ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 2, 64, 65, 125, 126, 127, 255])
def test_exit_code_is_the_commands(bench: Bench, code: int) -> None:
    """A command's exit code arrives, also those that engines and launchers use for themselves."""
    assert bench.shell(f"exit {code}").exit_code == code


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT], ids=lambda number: number.name
)
def test_signal_is_told_as_a_shell_tells_it(bench: Bench, number: signal.Signals) -> None:
    """A command that a signal ends has the exit code 128 plus the signal's number."""
    assert bench.shell(f"kill -{int(number)} $$").exit_code == 128 + number


@pytest.mark.parametrize(
    ("fields", "reference"),
    [
        pytest.param({"argv": ("/no/such/program",)}, "program-missing", id="no program"),
        pytest.param({"argv": ("/etc/passwd",)}, "program-missing", id="no executable"),
        pytest.param({"argv": ("/bin/true",), "cwd": "{source}"}, "directory-missing", id="no directory"),
    ],
)
def test_what_prevents_a_start_is_the_machines_error(
    bench: Bench, fields: dict[str, object], reference: str
) -> None:
    """A command that cannot start is not a command that failed."""
    with pytest.raises(HostError) as caught:
        bench.executor.run(Command.model_validate(fields), log=bench.log)
    assert caught.value.reference == reference


# --- what it prints ---------------------------------------------------------------------------------


def test_log_is_complete_and_in_order(bench: Bench) -> None:
    """Stdout and stderr are one stream, in the order in which they were written."""
    bench.shell("i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done")
    assert bench.log.read_text() == "".join(f"out {i}\nerr {i}\n" for i in range(300))


def test_lines_arrive_while_it_runs(bench: Bench) -> None:
    """Whoever watches gets each line, in order, whatever its characters."""
    lines: list[str] = []
    command = Command(argv=("/usr/bin/printf", "é☃\n[1/2] a\r[2/2] b\nlast"))
    bench.executor.run(command, log=bench.log, on_line=lines.append)
    assert lines == ["é☃", "[1/2] a", "[2/2] b", "last"]


def test_log_can_be_continued(bench: Bench) -> None:
    """Several commands of a stage share a log."""
    for word in ("first", "second"):
        bench.executor.run(Command(argv=("/bin/echo", word)), log=bench.log, append=True)
    assert bench.log.read_text() == "first\nsecond\n"


def test_many_lines_are_no_burden(bench: Bench) -> None:
    """A hundred thousand lines pass in seconds, all of them."""
    lines: list[str] = []
    done = bench.executor.run(Command(argv=("/usr/bin/seq", "100000")), log=bench.log, on_line=lines.append)
    assert (lines[-1], len(lines), done.tail[0], done.seconds < 30) == ("100000", 100_000, "99801", True)


# --- what it may touch ------------------------------------------------------------------------------


def test_store_is_read_only(bench: Bench) -> None:
    """A command reads the store and cannot change it."""
    (bench.store / "input").write_text("locked")
    done = bench.shell("cat store/input; echo x >store/input || echo x >store/new || exit 9")
    assert (done.exit_code, (bench.store / "input").read_text(), done.tail[0].startswith("locked")) == (
        9,
        "locked",
        True,
    )


def test_cache_outlives_a_command(bench: Bench) -> None:
    """What a command leaves in the cache is there for the next one, and for this machine."""
    bench.shell("echo kept >cache/file")
    assert (bench.shell("cat cache/file").tail, (bench.cache / "file").read_text()) == (("kept",), "kept\n")


def test_files_belong_to_the_caller(bench: Bench) -> None:
    """What a command makes belongs to whoever builds, readable for all, whatever their mask."""
    before = os.umask(0o077)
    try:
        bench.shell("echo x >file; mkdir directory")
    finally:
        os.umask(before)
    status = [(bench.root / name).stat() for name in ("file", "directory")]
    assert [(one.st_uid, oct(one.st_mode & 0o777)) for one in status] == [
        (os.geteuid(), "0o644"),
        (os.geteuid(), "0o755"),
    ]


def test_services_of_the_machine_are_not_there(bench: Bench) -> None:
    """A command sees no socket of this machine: no engine, no bus, no agent, neither in /run nor in /tmp."""
    done = bench.shell("ls -A /run /var/run/ /tmp")
    names = {line for line in done.tail if line and not line.endswith(":")}
    assert (done.exit_code, names - {".containerenv", "lock", "podman-init"}) == (0, set())


def test_temporary_files_are_the_commands_own(bench: Bench) -> None:
    """What a command leaves in /tmp is gone with it, and none of it lies beside the workspace."""
    before = sorted(bench.top.iterdir())
    first = bench.shell("echo x >/tmp/file && cat /tmp/file")
    second = bench.shell("test ! -e /tmp/file")
    after = [path for path in sorted(bench.top.iterdir()) if path != bench.log]
    assert (first.tail, second.exit_code, after) == (
        ("x",),
        0,
        [path for path in before if path != bench.log],
    )


@pytest.mark.parametrize(
    "place", ["/etc", "/usr", "/usr/bin", "/var", "/opt", "/home", "/root", "/srv", "/sys", "/dev"]
)
def test_the_system_stays_as_it_is(bench: Bench, place: str) -> None:
    """What a command writes outside its own places is refused or gone with it, also where it is root."""
    name = f"{place}/torchbuild-contract-{os.getpid()}"
    bench.shell(f"test -d {place} && echo x >{name}")
    after = bench.shell(f"test ! -e {name}")
    reached = os.path.lexists(name)
    if reached:
        Path(name).unlink()
    assert (after.exit_code, reached) == (0, False)


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm"])
def test_temporary_places_are_the_commands_own(bench: Bench, place: str) -> None:
    """A command can write where programs write for a while; neither the next one nor the machine sees it."""
    name = f"{place}/torchbuild-contract-{os.getpid()}"
    written = bench.shell(f"echo x >{name} && cat {name}")
    after = bench.shell(f"test ! -e {name}")
    reached = Path(name).exists()
    Path(name).unlink(missing_ok=True)
    assert (written.tail, after.exit_code, reached) == (("x",), 0, False)


def test_settings_of_the_kernel_cannot_be_changed(bench: Bench) -> None:
    """A root inside cannot set what holds for the whole machine."""
    done = bench.shell("for f in sys/kernel/hostname sysrq-trigger; do test ! -w /proc/$f || echo $f; done")
    assert (done.exit_code, done.tail) == (0, ())


def test_disks_of_the_machine_are_not_there(bench: Bench) -> None:
    """No command finds a device by which it could write past the file system."""
    done = bench.shell("for f in /dev/*; do test -b $f && test -w $f && echo $f; done; test ! -w /dev/mem")
    assert (done.exit_code, done.tail) == (0, ())


def test_network_is_not_there(bench: Bench) -> None:
    """A command without a network has a loopback device and no other."""
    done = bench.run("/bin/cat", "/proc/net/dev")
    assert {line.partition(":")[0].strip() for line in done.tail if ":" in line} == {"lo"}


def test_nothing_can_be_reached(bench: Bench, listener: int) -> None:
    """A connection to a server of this machine fails at once, since loopback is the command's own."""
    done = bench.run("/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{listener}")
    assert (done.exit_code, "Connection refused" in "".join(done.tail)) == (1, True)


def test_network_is_there_where_it_is_asked_for(bench: Bench, listener: int) -> None:
    """A command that may use the network reaches what this machine reaches."""
    assert (
        bench.run("/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{listener}", network="host").exit_code == 0
    )


def test_jobs_are_told_to_the_build(bench: Bench) -> None:
    """The number of jobs is a variable that no key knows."""
    assert bench.make(jobs=2).environment() == {"MAX_JOBS": "2"}


def test_processors_are_limited(bench: Bench) -> None:
    """With one job a command gets the time of one processor, however many processes it starts."""
    spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    executor = bench.make(jobs=1)
    command = Command(argv=("/bin/sh", "-c", f"({spin}) & ({spin}) & ({spin}) & wait; times"))
    done = executor.run(command, log=bench.log)
    minutes = [word.removesuffix("s").split("m") for word in done.tail[-1].split()]
    used_s = sum(60 * float(minute) + float(second) for minute, second in minutes)
    assert used_s <= 1.15 * done.seconds


def test_processors_are_counted_right(bench: Bench) -> None:
    """Who asks how many processors there are gets the number of jobs; an engine only limits their time."""
    bench.make(jobs=1).run(Command(argv=("/bin/cat", "/proc/self/status")), log=bench.log)
    (line,) = [line for line in bench.log.read_text().splitlines() if line.startswith("Cpus_allowed:")]
    seen = int(line.split()[1].replace(",", ""), 16).bit_count()
    has_own_group = bench.kind == "container" and "cpu" in can_limit(bench._engine)
    expected = seen if has_own_group else 1
    assert seen == expected


def test_memory_is_limited(bench: Bench) -> None:
    """A command that asks for more memory than it may have is stopped, and not this machine."""
    executor = bench.make(memory_gib=0.0625)
    # Its one buffer is anonymous memory, several times the limit.
    command = Command(argv=("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"))
    try:
        code = executor.run(command, log=bench.log).exit_code
    except HostError as error:
        assert error.reference == "memory-not-limitable"  # noqa: PT017
        pytest.skip(f"this machine lets us limit nothing: {error.why}")
    assert code == 137


# --- in and out -------------------------------------------------------------------------------------


def test_directory_goes_in_and_comes_out(bench: Bench, tmp_path: Path) -> None:
    """Files, permissions, links and empty directories survive the way through a build."""
    tree = tmp_path / "tree"
    (tree / "empty").mkdir(parents=True)
    (tree / "tool").write_text("#!/bin/sh\necho ran $0\n")
    (tree / "tool").chmod(0o755)
    (tree / "link").symlink_to("tool")
    bench.executor.put(tree, "{source}/tree")
    done = bench.run("/torchbuild/source/tree/link")
    bench.executor.get("/torchbuild/source/tree", tmp_path / "back")
    back = tmp_path / "back"
    assert (
        done.tail,
        str((back / "link").readlink()),
        oct((back / "tool").stat().st_mode),
        (back / "empty").is_dir(),
    ) == (
        ("ran /torchbuild/source/tree/link",),
        "tool",
        "0o100755",
        True,
    )


def test_file_that_comes_out_belongs_to_the_caller(bench: Bench, tmp_path: Path) -> None:
    """A result is the caller's own file."""
    bench.shell("mkdir dist; echo wheel >dist/wheel")
    bench.executor.get("{dist}/wheel", tmp_path / "out" / "wheel")
    result = tmp_path / "out" / "wheel"
    assert (result.read_text(), result.stat().st_uid) == ("wheel\n", os.geteuid())


# --- nothing stays ----------------------------------------------------------------------------------


def test_background_children_do_not_survive(bench: Bench, life: Life) -> None:
    """A daemon that a command started ends with the command, also one that hid in a session of its own."""
    daemon = f"{Life.BEGIN} echo >/torchbuild/cache/ready; exec sleep 1000"
    bench.shell(f"setsid sh -c '{daemon}' & read line </torchbuild/cache/ready")
    assert (life.has_begun(), life.has_ended()) == (True, True)


def test_interrupt_leaves_nothing(bench: Bench, life: Life) -> None:
    """Ctrl-C ends everything that runs inside."""
    with bench.drive("run", f"{Life.BEGIN} sleep 1000 & wait", stderr=subprocess.PIPE) as driver:
        begun = life.has_begun()
        driver.send_signal(signal.SIGINT)
        driver.communicate()
    assert (begun, life.has_ended()) == (True, True)


def test_killed_driver_leaves_nothing(bench: Bench, life: Life) -> None:
    """SIGKILL of whoever builds ends everything that runs inside, with nobody's help, however quiet it is."""
    with bench.drive("run", f"{Life.BEGIN} trap '' HUP INT TERM; setsid sleep 1000 & wait") as driver:
        begun = life.has_begun()
        driver.kill()
    assert (begun, life.has_ended()) == (True, True)


def test_killed_driver_leaves_no_shell(bench: Bench, life: Life) -> None:
    """SIGKILL of whoever opened a shell ends what runs in it, although the terminal stays."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as end:
        with bench.drive(
            "shell", f"{Life.BEGIN} sleep 1000 & wait", stdin=end, stdout=end, stderr=end
        ) as driver:
            begun = life.has_begun()
            driver.kill()
        assert (begun, life.has_ended()) == (True, True)


@pytest.mark.parametrize("bench", [pytest.param("container", marks=pytest.mark.container)], indirect=True)
def test_next_build_removes_what_a_killed_one_left(bench: Bench, life: Life) -> None:
    """Whatever the engine still has of a killed driver's container is gone before the same build goes on."""
    with bench.drive("run", f"{Life.BEGIN} sleep 1000 & wait") as driver:
        begun = life.has_begun()
        driver.kill()
    bench.executor.remove_stale()  # type: ignore[attr-defined]
    assert (begun, life.has_ended(), bench.executor.remove_stale()) == (True, True, ())  # type: ignore[attr-defined]


@pytest.mark.parametrize("bench", [pytest.param("container", marks=pytest.mark.container)], indirect=True)
def test_next_build_removes_what_stood_still(bench: Bench, life: Life) -> None:
    """A build that is killed while it waits for space leaves a frozen container: it goes as any other."""
    with bench.drive("run", f"{Life.BEGIN} sleep 1000 & wait") as driver:
        begun = life.has_begun()
        (container,) = bench.executor._left()  # type: ignore[attr-defined]
        is_paused = PausedContainer(bench._engine, container).pause()
        driver.kill()
    removed = bench.executor.remove_stale()  # type: ignore[attr-defined]
    assert (begun, is_paused, removed) == (True, True, (container,))
    assert (life.has_ended(), bench.executor.remove_stale()) == (True, ())  # type: ignore[attr-defined]


def test_standard_input_is_empty(bench: Bench) -> None:
    """A command that asks a question gets the end of a file, and not what keeps it alive."""
    assert bench.run("/bin/cat").tail == ()


def test_command_has_no_unknown_children(bench: Bench) -> None:
    """A command waits for its own children only: nothing of ours is one of them."""
    done = bench.run("/bin/cat", "/proc/thread-self/children")
    assert done.tail in {(), ("",)}


@pytest.mark.parametrize("bench", [pytest.param("container", marks=pytest.mark.container)], indirect=True)
def test_other_builds_keep_their_containers(bench: Bench, life: Life, tmp_path: Path) -> None:
    """Removing what one build left does not touch another one's container."""
    other = Bench("container", tmp_path / "other", bench._engine, bench._image)
    with bench.drive("run", f"{Life.BEGIN} read line </torchbuild/cache/ready") as driver:
        begun = life.has_begun()
        removed = other.executor.remove_stale()  # type: ignore[attr-defined]
        (bench.cache / "ready").write_text("go\n")
    assert (begun, removed, driver.returncode) == (True, (), 0)


def test_workspace_holds_no_trace_of_ours(bench: Bench) -> None:
    """Running commands leaves nothing in the workspace but what they made."""
    bench.shell("echo x >file")
    assert sorted(path.name for path in bench.root.iterdir()) == ["cache", "file", "store"]


def test_shell_is_handed_the_terminal(bench: Bench) -> None:
    """A person gets a real terminal inside the build, and the shell's exit code back."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as end:
        with bench.drive(
            "shell", "test -t 0 && test -t 1 && exit 7", stdin=end, stdout=end, stderr=end
        ) as driver:
            driver.wait()
        assert driver.returncode == 7
