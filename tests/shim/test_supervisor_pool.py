"""Ninja, the launcher and the supervisor with machines that compile elsewhere; these are scripts here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from supervised import Yard

from torchbuild.shim.ninja import STOPPED

AWAY = """\
#!/bin/sh
echo "$WHERE+" >>{log}
case "$WHERE" in
  */gone) echo "away[$$] ERROR: connection refused" >&2; echo "$WHERE-" >>{log}; exit 116 ;;
  */wordy) echo "distcc[$$] Warning: slow" >&2; echo "a.c:1: warning: odd" >&2 ;;
  */broken) echo "away: half an object" >&2; : >"$6"; echo "$WHERE-" >>{log}; exit 1 ;;
esac
sleep 0.05
"$@"
code=$?
echo "$WHERE-" >>{log}
exit $code
"""
CC = '#!/bin/sh\necho "${{WHERE:-here}}+" >>{log}; sleep 0.05; : >"$5"; echo "${{WHERE:-here}}-" >>{log}\n'
HELD_AWAY = """\
#!/bin/sh
echo away >>{root}/begun
read -r _ <{root}/go-away
[ ! -e {root}/breaks-off ] || {{ echo "away ERROR: broke off" >&2; exit 116; }}
shift 5
: >"$1"
"""
HELD_CC = "#!/bin/sh\necho here >>{root}/begun; read -r _ <{root}/go-here; : >$5\n"
TALK = """\
import os, socket
talking = socket.socket(socket.AF_UNIX)
talking.connect(os.environ["TORCHBUILD_SUPERVISOR"])
talking.send({!r})
talking.settimeout(60)
while talking.recv(99): pass
"""


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Ours, laid once."""
    return Yard(tmp_path_factory.mktemp("pool") / "yard")


@pytest.fixture
def yard(laid: Yard) -> Yard:
    """An empty build tree, a compiler and a program that sends away; both say when they begin and end."""
    laid.clean()
    laid.expect()
    (laid.root / "log").unlink(missing_ok=True)
    for name, text in (("away", AWAY), ("cc", CC)):
        (laid.root / name).write_text(text.format(log=laid.root / "log"), encoding="utf-8")
        (laid.root / name).chmod(0o755)
    (laid.build.parent / "a.c").write_text("int a;\n", encoding="utf-8")
    return laid


def pool(yard: Yard, **slots: int) -> None:
    """Machines by name, and how much each does at once."""
    hosts = [{"name": name, "spec": f"at/{name}", "slots": count} for name, count in slots.items()]
    told = {"program": str(yard.root / "away"), "environ": {}, "variable": "WHERE", "hosts": hosts}
    (yard.shim / "pool.json").write_text(json.dumps(told), encoding="utf-8")


def edges(yard: Yard, count: int, flags: str = "-O2") -> None:
    """So many compiles of one source."""
    lines = "".join(f"build e{number}.o: cc ../a.c\n" for number in range(count))
    yard.write(f"rule cc\n  command = {yard.launch} {yard.root / 'cc'} {flags} -c $in -o $out\n{lines}")


def used(yard: Yard) -> dict[str, Any]:
    """What became of the pool."""
    told: dict[str, Any] = json.loads((yard.shim / "pool-used.json").read_text(encoding="utf-8"))
    return told


def most(yard: Yard, where: str) -> int:
    """How many ran there at once at the most."""
    running = found = 0
    for word in (yard.root / "log").read_text(encoding="utf-8").split():
        if word[:-1] == where:
            running += 1 if word.endswith("+") else -1
            found = max(found, running)
    return found


def test_jobs_here_and_slots_there_work_at_once(yard: Yard) -> None:
    """Two jobs of this machine beside three slots of two others: never more here than jobs, nor there than slots."""
    pool(yard, one=1, two=2)
    edges(yard, 24)

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    assert most(yard, "here") <= 2
    assert most(yard, "at/one") <= 2, "each is told of twice: by what sends, and by the compiler"
    assert most(yard, "at/two") <= 4
    hosts = used(yard)["hosts"]
    assert hosts["one"]["done"] > 0
    assert hosts["two"]["done"] > 0
    assert len(list(yard.build.glob("*.o"))) == 24
    assert yard.left()["tokens_recovered"] == 0


def test_with_one_job_here_another_edge_goes_on(yard: Yard) -> None:
    """A single token is handed on as well: the machine does not wait with those that compile for it."""
    pool(yard, one=3)
    edges(yard, 9)

    code, said = yard.run(yard.ninja, "-j1")

    assert code == 0, said
    assert most(yard, "here") <= 1
    assert used(yard)["hosts"]["one"]["sent"] > 3


def test_a_pool_that_is_gone_leaves_nothing_undone(yard: Yard) -> None:
    """All is compiled here, as many at once as jobs; the machine is named with its reason, once."""
    pool(yard, gone=4)
    edges(yard, 12)

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    assert 0 < most(yard, "here") <= 2, "also what came back, which is told of no machine any more"
    assert (yard.root / "log").read_text().split().count("here+") == 12
    assert said.count("compiles nothing more for now") == 1
    assert said.count("connection refused") == 1
    row = used(yard)["hosts"]["gone"]
    assert (row["done"], row["back"]) == (0, row["sent"])
    assert row["why"] == {"away ERROR: connection refused": row["sent"]}
    assert len(list(yard.build.glob("*.o"))) == 12


def test_what_fails_elsewhere_is_compiled_here_and_only_that_counts(yard: Yard) -> None:
    """Neither the other machine's words nor its half object are left: a compiler cache would keep them."""
    pool(yard, broken=4)
    edges(yard, 3)

    code, said = yard.run(yard.ninja, "-j4")

    assert code == 0, said
    assert "half an object" not in said
    assert used(yard)["hosts"]["broken"]["back"] == 3


def test_a_warning_is_heard_and_the_engines_own_words_are_not(yard: Yard) -> None:
    """A compiler cache keeps what a compiler says, and would say it again for ever."""
    pool(yard, wordy=1)
    edges(yard, 1)

    code, said = yard.run(yard.ninja, "-j1")

    assert code == 0
    assert "a.c:1: warning: odd" in said
    assert "distcc[" not in said
    assert used(yard)["hosts"]["wordy"]["done"] == 1


def test_an_error_in_the_source_is_told_by_the_compiler_here(yard: Yard) -> None:
    """Once, and the build fails of it."""
    pool(yard, one=2)
    edges(yard, 1)
    (yard.root / "cc").write_text("#!/bin/sh\necho a.c:1: error: no >&2\nexit 1\n", encoding="utf-8")

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 1
    assert said.count("a.c:1: error: no") == 1


def test_peaks_of_what_is_compiled_elsewhere_are_not_kept_free_here(yard: Yard) -> None:
    """Compilers of which not two fit here go out together; peaks seen there teach nothing about here."""
    pool(yard, one=4)
    yard.expect(priors=[{"pattern": "", "program": "", "bytes": 1 << 60}], other=1)
    edges(yard, 4)

    code, said = yard.run(yard.ninja, "-j4")

    assert code == 0, said
    assert used(yard)["hosts"]["one"]["done"] >= 3
    assert most(yard, "at/one") > 2
    assert set(yard.seen()) <= {"e3.o"}


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("-O2", {}),
        ("-g0", {}),
        ("-Wall", {}),
        ("-g", {"debug": 1}),
        ("-ggdb3", {"debug": 1}),
        ("-march=native", {"native": 1}),
        ("-flto=auto", {"lto": 1}),
        ("--coverage", {"option": 1}),
        ("-fprofile-use=x", {"option": 1}),
        ("@flags.rsp", {"option": 1}),
        ("-E", {"option": 1}),
        ("../b.c", {"not one source": 1}),
        ("../b.S", {"assembly": 1}),
    ],
)
def test_what_may_not_go_stays_and_is_counted(yard: Yard, flags: str, wanted: dict[str, int]) -> None:
    """What would become another object elsewhere, or needs files of this machine."""
    pool(yard, one=1)
    edges(yard, 1, flags)

    code, said = yard.run(yard.ninja, "-j1")

    assert code == 0, said
    assert used(yard)["stayed"] == wanted
    assert used(yard)["hosts"]["one"]["done"] == (0 if wanted else 1)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("nvcc -c ../a.cu -o $out", "nvcc"),
        ("g++ -x c++-header -c ../a.h -o $out", "header"),
        ("g++ -o $out ../a.o", "not one source"),
    ],
)
def test_what_no_machine_takes_stays(yard: Yard, words: str, wanted: str) -> None:
    """Device code, precompiled headers, links."""
    pool(yard, one=1)
    program, rest = words.split(" ", 1)
    (yard.build / program).write_text("#!/bin/sh\nfor last; do :; done; : >e.o\n", encoding="utf-8")
    (yard.build / program).chmod(0o755)
    yard.write(f"rule cc\n  command = {yard.launch} ./{program} {rest}\nbuild e.o: cc\n")

    code, said = yard.run(yard.ninja, "-j1")

    assert code == 0, said
    assert used(yard)["stayed"] == {wanted: 1}


def test_a_pool_that_cannot_be_served_when_ninja_starts_is_told(yard: Yard) -> None:
    """It was there when it was looked at: that nothing is sent to it after all is no silence."""
    told = {"program": "/no", "environ": {}, "variable": "WHERE"}
    served = {"url": "http://s:1", "program": "/no/sccache", "folder": str(yard.root / "p"), "compilers": []}
    told |= {"hosts": [{"name": "one", "spec": "one", "slots": 1}], "sccache_dist": served}
    (yard.shim / "pool.json").write_text(json.dumps(told), encoding="utf-8")
    edges(yard, 2)

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    assert "/no/sccache: not there" in used(yard)["unserved"]


def test_without_a_pool_nothing_is_told_of_one(yard: Yard, tmp_path: Path) -> None:
    """And nothing of an earlier one is left to be read."""
    (yard.shim / "pool.json").unlink(missing_ok=True)
    (yard.shim / "pool-used.json").unlink(missing_ok=True)
    edges(yard, 2)

    assert yard.run(yard.ninja, "-j2")[0] == 0
    assert not (yard.shim / "pool-used.json").exists()


def has_begun(begun: Path, count: int, ninja: subprocess.Popen[str]) -> None:
    """Wait until so many compilers said so."""

    def have() -> bool:
        assert ninja.poll() is None
        return begun.exists() and len(begun.read_text().split()) >= count

    wait(have)


def wait(have: Callable[[], bool]) -> None:
    """Look again and again, for a while."""
    end = time.monotonic() + 30
    while not have():
        assert time.monotonic() < end
        time.sleep(0.01)


def waiting_now(yard: Yard) -> int:
    """Compilers that wait, as who watches is told."""
    try:
        return int(json.loads((yard.shim / "live.json").read_text(encoding="utf-8"))["waiting"])
    except (OSError, ValueError):
        return 0


def held(yard: Yard, folder: Path) -> None:
    """Compilers here and elsewhere that say when they begin, and go on when they are told to."""
    for name, text in (("away", HELD_AWAY), ("cc", HELD_CC)):
        (yard.root / name).write_text(text.format(root=folder), encoding="utf-8")
    for name in ("go-away", "go-here"):
        os.mkfifo(folder / name)


def go(folder: Path, where: str) -> None:
    """Let one of them go on."""
    (folder / f"go-{where}").write_text("x\n", encoding="utf-8")


@contextlib.contextmanager
def stopped(yard: Yard, folder: Path, waiting: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A ninja with two compilers that run, and so many that wait, which was asked to stop; nothing of it stays."""
    mark = yard.shim / "stop-asked"
    with yard.start(yard.ninja, "-j3" if waiting else "-j2") as ninja:
        try:
            has_begun(folder / "begun", 2, ninja)
            if waiting:
                go(folder, "on")
                wait(lambda: waiting_now(yard) == waiting)
            mark.touch()
            assert ninja.stdout is not None
            # not how many: one that is about to ask is counted too, and held when it does
            assert any("stopping, as asked: " in line for line in ninja.stdout)
            yield ninja
        finally:
            mark.unlink(missing_ok=True)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(ninja.pid, signal.SIGKILL)


@pytest.mark.parametrize("breaks_off", [False, True])
def test_asked_to_stop_what_is_away_is_finished(yard: Yard, tmp_path: Path, *, breaks_off: bool) -> None:
    """One compiles elsewhere and one here: both count, also where the other machine breaks off; no third begins."""
    held(yard, tmp_path)
    begun = tmp_path / "begun"
    pool(yard, one=1)
    yard.expect(other=1 << 60)  # so that one alone fits here
    edges(yard, 5)
    with stopped(yard, tmp_path) as ninja:
        if breaks_off:
            (tmp_path / "breaks-off").touch()
        for where in ("away", "here"):
            go(tmp_path, where)
        if breaks_off:
            has_begun(begun, 3, ninja)
            go(tmp_path, "here")
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == STOPPED, said
    assert len(list(yard.build.glob("*.o"))) == 2
    assert sorted(begun.read_text().split()) == ["away", *["here"] * (2 if breaks_off else 1)]
    assert used(yard)["hosts"]["one"]["back"] == breaks_off


def test_a_second_interrupt_is_no_work_of_a_machine(yard: Yard, tmp_path: Path) -> None:
    """What is ended there counts as sent, and neither as done nor against the machine."""
    held(yard, tmp_path)
    pool(yard, one=1)
    yard.expect(other=1 << 60)  # so that one alone fits here
    edges(yard, 5)
    with stopped(yard, tmp_path) as ninja:
        ninja.send_signal(signal.SIGINT)
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode != 0, said
    row = used(yard)["hosts"]["one"]
    assert (row["sent"], row["done"], row["back"]) == (1, 0, 0)
    assert not list(yard.build.glob("*.o"))


def test_what_comes_back_while_a_build_stops_needs_no_token_of_those_that_never_begin(
    yard: Yard, tmp_path: Path
) -> None:
    """Ninja's own job stays here, and each token is with an edge that is held: what broke off goes on."""
    held(yard, tmp_path)
    pool(yard, one=1)
    yard.expect(learned={f"e{number}.o": 1 << 60 for number in (2, 3)})  # these only wait
    os.mkfifo(tmp_path / "go-on")
    rules = "".join(
        f"rule {name}\n  command = {yard.launch} {yard.root / 'cc'} {flag} -c $in -o $out\n"
        for name, flag in (("here", "-g"), ("any", "-O2"))
    )
    rules += f"rule on\n  command = read -r _ <{tmp_path}/go-on; : >$out\nbuild e0.o: here ../a.c\n"
    lines = "".join(f"build e{number}.o: any ../a.c\n" for number in range(1, 4))
    yard.write(f"{rules}build on: on\n{lines}")
    with stopped(yard, tmp_path, waiting=2) as ninja:
        (tmp_path / "breaks-off").touch()
        go(tmp_path, "here")
        go(tmp_path, "away")
        has_begun(tmp_path / "begun", 3, ninja)
        go(tmp_path, "here")
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == STOPPED, said
    assert sorted(path.name for path in yard.build.glob("*.o")) == ["e0.o", "e1.o"]


@pytest.mark.parametrize("words", ["back\tx\t\n", "killed\t1\n", "back\t116\n"])
def test_nonsense_of_one_that_is_away_ends_its_sender_alone(yard: Yard, words: str) -> None:
    """The supervisor goes on, and the machine's slot is free again."""
    talk = TALK.format(f"ask\t1\tg++\t/\ta.o\t\t\n{words}".encode())
    (yard.build.parent / "talk.py").write_text(talk, encoding="utf-8")
    pool(yard, one=1)
    yard.write(
        "rule talk\n  command = python3 ../talk.py; : >$out\nbuild talked: talk\n"
        f"rule cc\n  command = {yard.launch} {yard.root / 'cc'} -O2 -c ../a.c -o $out\nbuild e.o: cc | talked\n"
    )

    code, said = yard.run(yard.ninja, "-j1")

    assert code == 0, said
    assert (used(yard)["hosts"]["one"]["sent"], used(yard)["hosts"]["one"]["done"]) == (2, 1)
