"""Ninja, make and gcc as they are, with the supervisor beside them: tokens, memory, and what is killed."""

from __future__ import annotations

import array
import fcntl
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import memory
import pytest
from supervised import Yard

from torchbuild.edges.memory_group import memory_group
from torchbuild.errors import HostError

JOB = """#!/bin/sh
echo + >>{log}
sleep 0.05
echo - >>{log}
: >"$1"
"""
MAKEFILE = """\
all: m0 m1 m2 m3 m4 m5 sub
m%:
\t../../job $@
sub:
\t$(MAKE) -j 9 --load-average=30 -f ../../Sub
"""
ASKED = "ask\t1\t1\t0\ta\tb\tc\n"
TALK = """\
import os, socket
talking = socket.socket(socket.AF_UNIX)
talking.connect(os.environ["TORCHBUILD_SUPERVISOR"])
talking.send({!r})
talking.settimeout(1)
talking.recv(1)
"""
SUB = "all: s0 s1 s2 s3\ns%:\n\t../../job $@\n"


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Ours, laid once."""
    return Yard(tmp_path_factory.mktemp("supervised") / "yard")


@pytest.fixture
def yard(laid: Yard) -> Yard:
    """An empty build tree, and a job that says when it begins and ends."""
    for path in laid.build.parent.iterdir():
        if path.is_file():
            path.unlink()
    laid.clean()
    laid.expect()
    (laid.root / "log").unlink(missing_ok=True)
    (laid.root / "job").write_text(JOB.format(log=laid.root / "log"), encoding="utf-8")
    (laid.root / "job").chmod(0o755)
    (laid.root / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (laid.root / "Sub").write_text(SUB, encoding="utf-8")
    return laid


def at_once(yard: Yard) -> tuple[int, int]:
    """How many jobs ran at once at the most, and how many in all."""
    words = (yard.root / "log").read_text(encoding="utf-8").split()
    running = most = 0
    for word in words:
        running += 1 if word == "+" else -1
        most = max(most, running)
    return most, len(words) // 2


@pytest.mark.parametrize("tokens", [1, 3])
def test_ninja_and_the_makes_below_it_share_the_tokens(yard: Yard, tokens: int) -> None:
    """A make that is called with its own -j, as NCCL's is, and its sub-make run no job more than there are tokens."""
    jobs = "".join(f"build j{number}: job\n" for number in range(8))
    make = "rule mk\n  command = make -j8 -l8 -f ../../Makefile && : >$out\nbuild nccl: mk\n"
    yard.write(f"rule job\n  command = ../../job $out\n{make}{jobs}")

    code, said = yard.run(yard.ninja, f"-j{tokens}", "-l", "0.01")

    assert code == 0, said
    assert at_once(yard) == (tokens, 18)
    assert "warning: " not in said
    assert (yard.left()["jobs"], yard.left()["tokens_recovered"]) == (tokens, 0)


def test_the_user_of_the_machine_has_the_last_word(yard: Yard) -> None:
    """A tree's own -j never exceeds what MAX_JOBS allows."""
    jobs = "".join(f"build j{number}: job\n" for number in range(6))
    yard.write(f"rule job\n  command = ../../job $out\n{jobs}")

    code, _ = yard.run(yard.ninja, "-j64", MAX_JOBS="2")

    assert code == 0
    assert at_once(yard) == (2, 6)


def test_tokens_of_a_killed_make_come_back(yard: Yard) -> None:
    """A make that is killed takes its tokens with it; the build goes on with as many as before."""
    os.mkfifo(yard.root / "held")
    (yard.root / "Makefile").write_text(
        "all: a b c\n%:\n\techo $$PPID >>../../pids; cat ../../held\n", "utf-8"
    )
    rules = "rule mk\n  command = make -f ../../Makefile || : >$out\nbuild nccl: mk\n"
    after = "rule job\n  command = ../../job $out\n" + "".join(
        f"build j{number}: job | nccl\n" for number in range(8)
    )
    late = "rule wait\n  command = cat ../../go; : >$out\nbuild first: wait | nccl\n"
    yard.write(rules + after.replace("| nccl", "| first") + late)
    os.mkfifo(yard.root / "go")
    with yard.start(yard.ninja, "-j3") as ninja:
        pids = yard.root / "pids"
        _until(lambda: len(_holding()) == 3)  # one that lives on would hold ninja's pipe
        held = _holding()
        os.kill(int(pids.read_text().split()[0]), signal.SIGKILL)
        for pid in held:
            os.kill(int(pid), signal.SIGKILL)
        _until(lambda: _free_tokens(yard) == 2)
        (yard.root / "go").write_text("")
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == 0, said
    assert yard.left()["tokens_recovered"] == 2
    assert at_once(yard) == (3, 8)
    (yard.root / "pids").unlink()
    (yard.root / "held").unlink()
    (yard.root / "go").unlink()


def _until(happened: Callable[[], bool], seconds: float = 60) -> None:
    """Look until it has happened; what never does is a failure."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        select.select([], [], [], 0.02)


def _holding() -> list[str]:
    return [pid for pid in _processes() if _command(pid) == b"cat\0../../held\0"]


def _processes() -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def _command(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


def _free_tokens(yard: Yard) -> int:
    """Of the pipe that the running ninja was handed."""
    for pid in _processes():
        if _command(pid).startswith(str(yard.shim / "ninja-real").encode()):
            environ = Path("/proc", pid, "environ").read_bytes().split(b"\0")
            flags = next(item for item in environ if item.startswith(b"MAKEFLAGS="))
            file = os.open(flags.split(b"fifo:")[1].split()[0].decode(), os.O_RDWR | os.O_NONBLOCK)
            count = array.array("i", [0])
            fcntl.ioctl(file, termios.FIONREAD, count)
            os.close(file)
            return count[0]
    return -1


def test_what_waits_for_memory_lends_its_token(yard: Yard) -> None:
    """While large compilers wait for one another, everything else goes on with all the tokens."""
    (yard.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    heavy = "".join(f"build heavy{number}.o: slow ../a.c\n" for number in range(4))
    jobs = "".join(f"build j{number}: job\n" for number in range(8))
    slow = f"rule slow\n  command = {yard.launch} ./slow -c $in -o $out\n"
    yard.write(f"{slow}rule job\n  command = ../../job $out\n{heavy}{jobs}")
    (yard.build / "slow").write_text('#!/bin/sh\n../../job "$4"\n', encoding="utf-8")
    (yard.build / "slow").chmod(0o755)
    yard.expect(priors=[{"pattern": "heavy", "program": "", "bytes": 1 << 60}], other=1)

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    assert at_once(yard) == (2, 12)
    assert yard.left()["edges_admitted"] == 4
    assert yard.left()["edges_waited"] > 0


@pytest.mark.parametrize(
    "words",
    [
        "kill -9 $$",
        "exit 137",
        "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
        "echo Killed >&2; exit 255",
        "echo Warning >&2; echo Killed >&2; exit 255",
    ],
)
def test_what_was_killed_is_run_again_alone_once(yard: Yard, words: str) -> None:
    """A compiler that the kernel killed gets one more try, alone; nothing of the first one is in the log."""
    _compiler(yard, f"[ -e ../tried ] || {{ : >../tried; {words}; }}; : >a.o")

    code, said = yard.run(yard.ninja)

    assert code == 0, said
    assert "it is run again alone" in said
    assert "fatal error" not in said
    assert yard.left()["edges_rerun"] == 1


def test_what_is_killed_twice_fails(yard: Yard) -> None:
    """What is killed alone too is too large for this machine: it fails with the compiler's own words."""
    _compiler(yard, "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1")

    code, said = yard.run(yard.ninja)

    assert code == 1
    assert "FAILED: " in said
    assert "a.o was killed twice, the second time alone, with " in said
    assert said.count("g++: fatal error: Killed signal") == 1
    assert (yard.left()["edges_rerun"], yard.left()["edges_lost"]) == (1, 1)


def _compiler(yard: Yard, script: str) -> None:
    (yard.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    yard.write(f"rule cc\n  command = {yard.launch} ../compiler -c $in -o $out\nbuild a.o: cc ../a.c\n")
    (yard.build.parent / "compiler").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (yard.build.parent / "compiler").chmod(0o755)
    (yard.build.parent / "tried").unlink(missing_ok=True)


def test_errors_and_warnings_are_the_compilers_own(yard: Yard) -> None:
    """A compile error is shown once, fails the edge with its own code, and is no reason to try again."""
    source = yard.build.parent
    (source / "bad.c").write_text("int bad(void) { return }\n", encoding="utf-8")
    (source / "odd.c").write_text("int odd(void) { int unused; return 1; }\n", encoding="utf-8")
    cc = f"rule cc\n  command = {yard.launch} gcc -Wall -c $in -o $out\n"
    yard.write(cc + "build bad.o: cc ../bad.c\nbuild odd.o: cc ../odd.c\n")

    code, said = yard.run(yard.ninja, "-k0", "-j1")

    assert code == 1
    assert said.count("expected expression") == 1
    assert said.count("unused variable") == 1
    assert yard.left()["edges_rerun"] == 0
    assert list(yard.seen()) == ["odd.o"]
    assert 5_000_000 < yard.seen()["odd.o"] < 500_000_000


def test_what_was_learned_is_not_told_again(yard: Yard) -> None:
    """A file is small: a compiler that takes what it took before is no news."""
    (yard.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    yard.write(f"rule cc\n  command = {yard.launch} gcc -c $in -o $out\nbuild a.o: cc ../a.c\n")
    yard.run(yard.ninja)
    learned = yard.seen()
    yard.clean()
    yard.expect(learned=learned)

    assert yard.run(yard.ninja)[0] == 0
    assert yard.seen() == {}
    assert set(learned) == {"a.o"}


def test_compilers_are_killed_before_ninja(yard: Yard) -> None:
    """The kernel's choice falls on a compiler, and on nothing that the build cannot do without."""
    _compiler(yard, "cat /proc/self/oom_score_adj >a.o; cat /proc/$PPID/oom_score_adj >>a.o")
    own = Path("/proc/self/oom_score_adj").read_text(encoding="utf-8")

    assert yard.run(yard.ninja)[0] == 0
    assert (yard.build / "a.o").read_text(encoding="utf-8") == f"500\n{own}"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_without_its_supervisor_a_build_ends(yard: Yard, number: signal.Signals) -> None:
    """Killed at any instant, the supervisor takes ninja and the compilers with it; the next run goes on."""
    os.mkfifo(yard.root / "started")
    _compiler(yard, "[ -p ../../started ] || exec touch a.o; echo $$ >../../started; exec sleep 300")
    pipe = os.open(yard.root / "started", os.O_RDWR)
    with yard.start(yard.ninja) as shim:
        assert select.select([pipe], [], [], 60)[0], "it never began"
        running = os.pidfd_open(int(os.read(pipe, 20)))
        os.kill(shim.pid, number)
        assert select.select([running], [], [], 60)[0], "a compiler lives on"
        shim.communicate(timeout=60)
    os.close(pipe)
    (yard.root / "started").unlink()

    assert yard.run(yard.ninja)[0] == 0
    assert (yard.build / "a.o").exists()


def test_a_stopped_compiler_holds_nobody_up(yard: Yard) -> None:
    """A compiler that somebody stopped keeps its token and no other; it ends when it goes on."""
    _compiler(yard, "echo $$ >../stopped; kill -STOP $$; : >a.o")
    rules = (yard.build / "build.ninja").read_text(encoding="utf-8")
    jobs = "".join(f"build j{number}: job\n" for number in range(6))
    yard.write(f"{rules}rule job\n  command = ../../job $out\n{jobs}")
    with yard.start(yard.ninja, "-j2") as ninja:
        _until(lambda: all((yard.build / f"j{number}").exists() for number in range(6)))
        os.kill(int((yard.build.parent / "stopped").read_text()), signal.SIGCONT)
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == 0, said
    assert at_once(yard) == (1, 6)
    assert yard.left()["tokens_recovered"] == 0


def test_the_compiler_cache_sees_no_difference(yard: Yard, tmp_path: Path) -> None:
    """What was cached without a supervisor is a hit with one, and a hit asks nobody."""
    (yard.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    yard.write("rule cc\n  command = ccache gcc -c $in -o $out\nbuild a.o: cc ../a.c\n")
    told = {"CCACHE_DIR": str(tmp_path), "CCACHE_STATSLOG": str(tmp_path / "log")}
    if subprocess.run(["ccache", "--version"], check=False, capture_output=True).returncode:
        pytest.skip("no ccache here")
    assert yard.run(yard.real, **told)[0] == 0
    (yard.build / "a.o").unlink()

    assert yard.run(yard.ninja, **told)[0] == 0
    assert "direct_cache_hit" in (tmp_path / "log").read_text(encoding="utf-8")
    assert yard.left()["edges_admitted"] == 0
    (yard.build.parent / "a.c").write_text("int a, b;\n", encoding="utf-8")

    assert yard.run(yard.ninja, **told)[0] == 0
    assert yard.left()["edges_admitted"] == 1


def test_what_a_bare_ninja_loses_is_built_under_a_limit(yard: Yard) -> None:
    """Eight compilers that together need more than there is: ninja -j8 loses some, ours at -j8 loses none."""
    memory.project(yard, heavy=5, light=2, rows=150_000)
    try:
        with memory_group(0.45):
            pass
    except HostError:
        pytest.skip("no control group can be made here")
    memory.rules(yard, "")
    with memory.limited(0.45) as first:
        code, said = yard.run(*first, yard.real, "-j8", "-k0")
    assert code == 1
    assert "Killed" in said
    yard.clean()
    yard.expect(other=150_000_000)
    memory.rules(yard, f"{yard.launch} ")

    with memory.limited(0.45) as first:
        code, said = yard.run(*first, yard.ninja, "-j8")

    assert code == 0, said
    assert len(list(yard.build.glob("*.o"))) == 7
    assert yard.left()["memory_available_bytes"] < 0.46 * (1 << 30)
    assert yard.left()["edges_lost"] == 0


@pytest.mark.parametrize(
    "words",
    [
        "end\t1\n",
        "killed\tx\n",
        "ask\tx\t1\t0\ta\tb\tc\n",
        ASKED + "end\t1\n",
        ASKED + "killed\tx\n",
        "\xff\n",
    ],
)
def test_nonsense_ends_its_sender_alone(yard: Yard, words: str) -> None:
    """A program of the build that talks to the supervisor as no launcher does harms nobody else."""
    (yard.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    (yard.build.parent / "talk.py").write_text(TALK.format(words.encode()), encoding="utf-8")
    yard.write(
        "rule talk\n  command = python3 ../talk.py; : >$out\nbuild talked: talk\n"
        f"rule cc\n  command = {yard.launch} gcc -c $in -o $out\nbuild a.o: cc ../a.c | talked\n"
    )

    code, said = yard.run(yard.ninja)

    assert code == 0, said
    assert yard.left()["edges_admitted"] >= 1
