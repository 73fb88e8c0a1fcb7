"""A build's own code talks to the supervisor, makes around it, and dies under it: nobody else is harmed."""

from __future__ import annotations

import os
import select
import shutil
import signal
from pathlib import Path

import pytest
from supervised import Yard

FLOOD = """\
import os, resource, socket
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
path = os.environ["TORCHBUILD_SUPERVISOR"]
def talk(text):
    talking = socket.socket(socket.AF_UNIX)
    try:
        talking.connect(path)
        talking.settimeout(5)
        talking.sendall(text)
    except OSError:
        pass
    return talking
kept = [talk(b"") for _ in range(1000)]
kept += [talk(b"x" * (8 << 20)), talk(b"ask\\t1\\ta\\tb\\tc\\n" * 10000)]
huge = b"9" * 4000
for line in (b"ask\\t" + huge + b"\\ta\\tb\\tc\\n", b"ask\\t-1\\tnvcc\\t\\t\\n", b"\\n", b"end\\t1\\t0\\n"):
    kept.append(talk(line))
me = b"%d" % os.getpid()
for end in (b"end\\t" + huge + b"\\t0\\n", b"killed\\t" + huge + b"\\n", b"killed\\t-5\\n", b"end\\t9999999999999\\t0\\n"):
    talking = talk(b"ask\\t1\\tnvcc\\t/\\tgrown\\n")
    try:
        talking.recv(1)
        talking.sendall(end)
        talking.recv(1)
    except OSError:
        pass
kept.append(talk(b"ask\\t" + me + b"\\tnvcc\\t/\\tlate\\n"))
"""


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Ours, laid anew."""
    made = Yard(tmp_path / "yard")
    made.expect()
    (made.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    return made


def compiler(yard: Yard, script: str, outputs: int = 1) -> None:
    """Edges that run a script behind the launcher."""
    edges = "".join(f"build a{number}.o: cc ../a.c\n" for number in range(outputs))
    yard.write(f"rule cc\n  command = {yard.launch} ../compiler -c $in -o $out\n{edges}")
    (yard.build.parent / "compiler").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (yard.build.parent / "compiler").chmod(0o755)


def test_a_flood_harms_nobody_else(yard: Yard) -> None:
    """Thousands of connections, lines without an end and numbers without a size: the build goes on."""
    (yard.build.parent / "flood.py").write_text(FLOOD, encoding="utf-8")
    yard.write(
        "rule flood\n  command = python3 ../flood.py; : >$out\nbuild flooded: flood\n"
        f"rule cc\n  command = {yard.launch} gcc -c $in -o $out\n"
        + "".join(f"build a{number}.o: cc ../a.c\n" for number in range(20))
        + "build b.o: cc ../a.c | flooded\n"
    )

    code, said = yard.run("sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh", yard.ninja, "-j3")

    assert code == 0, said
    assert "Traceback" not in said
    assert yard.left()["edges_admitted"] >= 21
    assert yard.left()["edges_evicted"] == 0


def test_two_hundred_launchers_at_once(yard: Yard) -> None:
    """As many as there are tokens may ask in the same moment."""
    compiler(yard, ': >"$4"', outputs=200)

    code, said = yard.run(yard.ninja, "-j200")

    assert code == 0, said
    assert yard.left()["edges_admitted"] == 200


def test_a_tab_in_a_path_is_no_word_of_ours(yard: Yard) -> None:
    """Files may be called anything; their compilers are let in."""
    compiler(yard, ': >"$4"')
    text = (yard.build / "build.ninja").read_text(encoding="utf-8")
    yard.write(text.replace("-o $out", '-o "a\tb" && : >$out'))

    code, said = yard.run(yard.ninja)

    assert code == 0, said


@pytest.mark.parametrize("folder", ["with blank", "x" * 120, "ü" * 60])
def test_any_folder_for_what_is_temporary_will_do(yard: Yard, tmp_path: Path, folder: str) -> None:
    """Sockets have short names and blanks end a word of MAKEFLAGS: then pipe and socket lie elsewhere."""
    (tmp_path / folder).mkdir()
    compiler(yard, '[ -p "$(echo "$MAKEFLAGS" | sed "s/.*fifo://; s/ .*//")" ] && : >"$4"')

    code, said = yard.run(yard.ninja, TMPDIR=str(tmp_path / folder))

    assert code == 0, said
    assert yard.left()["edges_admitted"] == 1
    assert list((tmp_path / folder).iterdir()) == []


def test_compilers_are_chosen_first_wherever_ninja_stands(yard: Yard) -> None:
    """In a container that is a likely victim as a whole, a compiler is a likelier one than ninja still."""
    compiler(yard, "cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj >a0.o")
    raised = 'echo 700 >/proc/self/oom_score_adj && exec "$@"'

    code, said = yard.run("sh", "-c", raised, "sh", yard.ninja)

    assert code == 0, said
    assert (yard.build / "a0.o").read_text(encoding="utf-8").split() == ["1000", "700"]


def test_without_ninja_compilers_end(yard: Yard) -> None:
    """Where the kernel chooses ninja after all, what it started does not go on for nobody."""
    os.mkfifo(yard.root / "started")
    compiler(yard, "sleep 300 & echo $! >../../started; wait")
    pipe = os.open(yard.root / "started", os.O_RDWR)
    with yard.start(yard.ninja) as shim:
        assert select.select([pipe], [], [], 60)[0], "it never began"
        running = os.pidfd_open(int(os.read(pipe, 20)))
        for child in Path(f"/proc/{shim.pid}/task/{shim.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        shim.communicate(timeout=60)
        assert shim.returncode == 137
        assert select.select([running], [], [], 60)[0], "what a compiler started lives on"
    os.close(pipe)


def test_a_compiler_that_stands_still_is_told(yard: Yard) -> None:
    """Nobody looks at a build for hours that waits for a process that somebody stopped."""
    compiler(yard, "echo $$ >../stopped; kill -STOP $$; : >a0.o")
    with yard.start(yard.ninja) as ninja:
        assert ninja.stdout is not None
        said = next(line for line in ninja.stdout if "was stopped" in line)
        pid = (yard.build.parent / "stopped").read_text().strip()
        os.kill(int(pid), signal.SIGCONT)
        ninja.communicate(timeout=60)

    assert ninja.returncode == 0
    assert f"kill -CONT {pid}" in said


JOB = "#!/bin/sh\necho + >>{log}\nsleep 0.1\necho - >>{log}\n"


def at_once(yard: Yard) -> tuple[int, int]:
    """Jobs that ran at once, and all."""
    most = running = 0
    words = (yard.root / "log").read_text(encoding="utf-8").split()
    for word in words:
        running += 1 if word == "+" else -1
        most = max(most, running)
    return most, len(words) // 2


@pytest.fixture
def shared(yard: Yard) -> Yard:
    """With a job, and a Makefile of ten jobs beside it."""
    (yard.root / "job").write_text(JOB.format(log=yard.root / "log"), encoding="utf-8")
    (yard.root / "job").chmod(0o755)
    (yard.root / "Makefile").write_text(
        "all: " + " ".join(f"m{n}" for n in range(10)) + "\nm%:\n\t@../../job\n", "utf-8"
    )
    return yard


def edge(command: str) -> str:
    """Six jobs, and one edge beside them."""
    jobs = "".join(f"build j{number}: job\n" for number in range(6))
    return (
        f"rule job\n  command = ../../job; : >$out\n"
        f"rule one\n  command = {command} && : >$out\nbuild x: one\n{jobs}"
    )


def test_a_make_that_is_called_by_its_path_shares_the_tokens(shared: Yard) -> None:
    """One that our make does not stand before is told of the pipe too, in words of its age."""
    real = shutil.which("make", path="/usr/bin:/usr/local/bin:/bin")
    shared.write(edge(f"{real} -f ../../Makefile"))

    code, said = shared.run(shared.ninja, "-j3")

    assert code == 0, said
    assert at_once(shared) == (3, 16)
    assert "warning" not in said


def test_a_make_that_goes_its_own_way_is_told(shared: Yard) -> None:
    """By its path and with a -j of its own nobody can hold it: the log says so, and the others do less."""
    real = shutil.which("make", path="/usr/bin:/usr/local/bin:/bin")
    text = (shared.root / "Makefile").read_text(encoding="utf-8")
    (shared.root / "Makefile").write_text(text.replace("../../job", "sleep 5"), encoding="utf-8")
    shared.write(edge(f"{real} -j8 -f ../../Makefile"))

    code, said = shared.run(shared.ninja, "-j2")

    assert code == 0, said
    assert f"torchbuild: `{real} -j8 -f ../../Makefile` starts jobs of its own beside the 2 tokens" in said
    assert shared.left()["tokens_exceeded"] > 0


@pytest.mark.parametrize("words", ["ninja -C ../nested -j 9", "cmake --build ../nested --parallel 9"])
def test_a_ninja_below_ours_shares_the_tokens(shared: Yard, cmake: str, words: str) -> None:
    """Another tree that an edge builds, as external projects are, has no number of jobs of its own."""
    nested = shared.build.parent / "nested"
    nested.mkdir()
    jobs = "".join(f"build n{number}: job\n" for number in range(8))
    (nested / "build.ninja").write_text(f"rule job\n  command = ../../job; : >$out\n{jobs}", encoding="utf-8")
    cache = f"CMAKE_PROJECT_NAME:STATIC=n\nCMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_MAKE_PROGRAM:FILEPATH={shared.ninja}\n"
    (nested / "CMakeCache.txt").write_text(cache, encoding="utf-8")
    shared.write(edge(words.replace("cmake", cmake)))

    code, said = shared.run(shared.ninja, "-j3", CMAKE_BUILD_PARALLEL_LEVEL="9")

    assert code == 0, said
    assert at_once(shared) == (3, 14)


def test_an_edge_may_build_another_target_of_its_own_tree(shared: Yard) -> None:
    """As a script of a tree does; it is one build still, with one supervisor and the same tokens."""
    jobs = "".join(f"build k{number}: job\n" for number in range(8))
    shared.write(
        f"{edge('ninja -j 9 kk')}{jobs}build kk: phony {' '.join(f'k{number}' for number in range(8))}\n"
        f"default x {' '.join(f'j{number}' for number in range(6))}\n"
    )

    code, said = shared.run(shared.ninja, "-j3")

    assert code == 0, said
    assert at_once(shared) == (3, 14)
    assert shared.left()["jobs"] == 3


def test_threads_of_an_nvcc_are_jobs(shared: Yard) -> None:
    """Two nvcc with two threads each, on two tokens, come one after the other."""
    nvcc = shared.build.parent / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{shared.root}/job & {shared.root}/job; wait; : >$2\n", encoding="utf-8")
    nvcc.chmod(0o755)
    codes = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"
    edges = "".join(f"build k{number}.o: cu\n" for number in range(3))
    shared.write(f"rule cu\n  command = {shared.launch} {nvcc} -o $out {codes}\n{edges}")

    code, said = shared.run(shared.ninja, "-j2", NVCC_APPEND_FLAGS="--threads 2")

    assert code == 0, said
    assert at_once(shared) == (2, 6)
