"""A real sccache behind our ninja: its server is the build's own, and its compilers ask as others do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from supervised import Yard

from torchbuild.shim.cache import parse_cache
from torchbuild.shim.ninja import STOPPED
from torchbuild.shim.sccache import _WRITES_S, compilers_of

PROGRAM = shutil.which("sccache", path=f"{sysconfig.get_path('scripts')}:{os.defpath}") or ""
NVCC = next((path for path in map(str, sorted(Path("/usr/local").glob("cuda*/bin/nvcc")))), "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="no sccache here")
RULES = """\
rule cc
  command = {launch} /usr/bin/gcc -O1 -o $out -c $in
build a.o: cc ../a.c
build b.o: cc ../b.c
"""


def order(yard: Yard, **more: object) -> None:
    """What the stage writes where a lock has sccache."""
    told = {"mode": "build", "build_dir": str(yard.build), "expect": [], "cache": PROGRAM, **more}
    (yard.shim / "order.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Ours, laid once."""
    return Yard(tmp_path_factory.mktemp("sccached") / "yard")


@pytest.fixture
def yard(laid: Yard, tmp_path: Path) -> Yard:
    """Two small sources, an empty cache, and the order to use it."""
    laid.clean()
    laid.expect()
    for name in "ab":
        (laid.build.parent / f"{name}.c").write_text(f"int {name}(int x) {{ return x + 1; }}\n")
    laid.write(RULES.format(launch=laid.launch))
    compilers = "CMAKE_C_COMPILER:FILEPATH=/usr/bin/gcc\nCMAKE_CXX_COMPILER:STRING=/usr/bin/g++\n"
    (laid.build / "CMakeCache.txt").write_text(compilers, encoding="utf-8")
    (laid.root / "cache-remote.json").unlink(missing_ok=True)
    order(laid, statslog=str(tmp_path / "log"))
    return laid


def first_do(yard: Yard, place: Path, what: str) -> None:
    """Lay a gcc that does this before it compiles, and not before it preprocesses; and a pipe ``go`` to hold it by."""
    compiler = place / "bin" / "gcc"
    compiler.parent.mkdir()
    head = f"""#!/bin/sh\ncase " $* " in *' -E '*) ;; *" -c "*) {what};; esac\n"""
    compiler.write_text(f'{head}exec /usr/bin/gcc "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    os.mkfifo(place / "go")
    (yard.build / "CMakeCache.txt").write_text(f"CMAKE_C_COMPILER:FILEPATH={compiler}\n", encoding="utf-8")
    yard.write(RULES.format(launch=yard.launch).replace("/usr/bin/gcc", str(compiler)))


def built(yard: Yard, cache: Path, **environ: str) -> tuple[int, str]:
    """Ninja's exit code and words."""
    return yard.run(yard.ninja, "-j2", SCCACHE_DIR=str(cache), **environ)


def servers(cache: Path) -> set[int]:
    """Servers of the builds with this directory alone: other tests have theirs at the same time."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_server = (place / "cmdline").read_bytes() == os.fsencode(PROGRAM) + b"\0"
            if is_server and os.fsencode(f"SCCACHE_DIR={cache}\0") in (place / "environ").read_bytes():
                found.add(int(place.name))
    return found


def counts(yard: Yard, kind: str) -> int:
    """What the server counted in the last build."""
    return sum(yard.left()["compiler_cache"]["cache"]["stats"][kind]["counts"].values())


def test_a_miss_asks_and_is_measured_and_a_hit_asks_nobody(yard: Yard, tmp_path: Path) -> None:
    """Compilers that a cache's server starts wait for memory as others do; a hit does not wait."""
    code, said = built(yard, tmp_path / "cache")

    assert code == 0, said
    assert (yard.left()["edges_admitted"], counts(yard, "cache_misses")) == (2, 2)
    assert set(yard.seen()) == {"a.o", "b.o"}
    assert min(yard.seen().values()) > 5 << 20, "cc1's memory, not a client's"
    assert (tmp_path / "log").read_text().count("cache_miss") == 2
    yard.clean()
    (tmp_path / "log").unlink()

    code, said = built(yard, tmp_path / "cache")

    assert code == 0, said
    assert (yard.left()["edges_admitted"], counts(yard, "cache_hits")) == (0, 2)
    assert counts(yard, "cache_misses") == 0
    assert sorted((tmp_path / "log").read_text().split("\n")) == [
        "",
        "# ../a.c",
        "# ../b.c",
        *["cache_hit"] * 2,
    ]
    assert not servers(tmp_path / "cache"), "it ended with the build"


def test_several_calls_of_ninja_are_counted_together(yard: Yard, tmp_path: Path) -> None:
    """A front end may build and then install: the second call finds everything done, and hides nothing."""
    assert built(yard, tmp_path / "cache")[0] == 0
    assert built(yard, tmp_path / "cache")[0] == 0

    assert counts(yard, "cache_misses") == 2
    assert yard.left()["compiler_cache"]["served"]


def test_another_compiler_of_the_same_version_is_another_one(yard: Yard, tmp_path: Path) -> None:
    """The cache is told the digest of the driver and of what it starts, not only a version."""
    assert built(yard, tmp_path / "cache")[0] == 0
    stand_in = yard.shim / "behind" / "usr" / "bin" / "gcc"
    said = stand_in.read_text(encoding="utf-8").splitlines()

    assert said[0] == f"#!{yard.launch}"
    assert len(said[1]) == len("# ") + 64


def test_its_errors_are_the_compilers(yard: Yard, tmp_path: Path) -> None:
    """What does not compile fails as it does without a cache, and says the same."""
    (yard.build.parent / "a.c").write_text("int a(void) { return nothing; }\n", encoding="utf-8")

    code, said = built(yard, tmp_path / "cache")

    assert code == 1
    assert "nothing" in said.partition("error: ")[2]


def test_a_backend_that_is_dead_is_told_and_fails_nothing(yard: Yard, tmp_path: Path) -> None:
    """The build goes on with the local cache alone; the address, which may be secret, is nowhere."""
    remote = {"SCCACHE_MULTILEVEL_CHAIN": "disk,webdav", "SCCACHE_WEBDAV_ENDPOINT": "http://127.0.0.1:1"}
    (yard.root / "cache-remote.json").write_text(json.dumps(remote), encoding="utf-8")

    code, said = built(yard, tmp_path / "cache")

    told = (yard.shim / "compile.json").read_text(encoding="utf-8")
    assert code == 0, said
    assert yard.left()["compiler_cache"]["backend"] == "send http request"
    assert counts(yard, "cache_misses") == 2
    assert "127.0.0.1" not in told + said


def test_a_program_that_cannot_serve_leaves_a_build_without_a_cache(yard: Yard, tmp_path: Path) -> None:
    """Compilers run, ask for memory, and the stage is told that nothing was served."""
    broken = tmp_path / "sccache"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    order(yard, cache=str(broken))

    code, said = built(yard, tmp_path / "cache")

    assert code == 0, said
    assert yard.left()["compiler_cache"] == {"backend": "", "cache": {}, "served": False}
    assert yard.left()["edges_admitted"] == 2


def test_a_server_that_is_killed_in_the_middle_fails_nothing(yard: Yard, tmp_path: Path) -> None:
    """What it compiled is compiled again, and nothing of it stays."""
    first_do(yard, tmp_path, f"[ -e {tmp_path}/began ] || {{ : >{tmp_path}/began; read x <{tmp_path}/go; }}")
    with yard.start(yard.ninja, "-j1", SCCACHE_DIR=str(tmp_path / "cache")) as ninja:
        until((tmp_path / "began").exists)
        (server,) = servers(tmp_path / "cache")
        os.kill(server, signal.SIGKILL)
        (tmp_path / "go").write_text("x", encoding="utf-8")
        said, _ = ninja.communicate(timeout=100)

    assert ninja.returncode == 0, said
    assert all((yard.build / f"{name}.o").stat().st_size for name in "ab")
    assert not yard.left()["compiler_cache"]["served"], "what it counted is lost with it, and that is said"
    until(lambda: not servers(tmp_path / "cache"))
    assert built(yard, tmp_path / "cache")[0] == 0
    assert not yard.left()["compiler_cache"]["served"], "another call of ninja hides nothing"


def test_a_compiler_that_is_killed_behind_the_server_is_run_again(yard: Yard, tmp_path: Path) -> None:
    """As one is that ninja started itself: the server, and the cache, see only what came of it in the end."""
    first_do(yard, tmp_path, f"[ -e {tmp_path}/began ] || {{ : >{tmp_path}/began; kill -9 $$; }}")

    code, said = built(yard, tmp_path / "cache")

    assert code == 0, said
    assert (tmp_path / "began").exists()
    assert (yard.left()["edges_rerun"], yard.left()["edges_lost"]) == (1, 0)
    assert (
        counts(yard, "cache_misses"),
        yard.left()["compiler_cache"]["cache"]["stats"]["compile_fails"],
    ) == (2, 0)


def test_a_build_that_is_killed_leaves_no_server(yard: Yard, tmp_path: Path) -> None:
    """Whatever happens to the build, nothing of the cache goes on."""
    os.mkfifo(tmp_path / "go")
    yard.write(f"rule wait\n  command = : >{tmp_path}/began; cat {tmp_path}/go\nbuild a: wait\n")
    with yard.start(yard.ninja, SCCACHE_DIR=str(tmp_path / "cache")) as ninja:
        until((tmp_path / "began").exists)
        assert len(servers(tmp_path / "cache")) == 1
        os.kill(ninja.pid, signal.SIGKILL)
        until(lambda: not servers(tmp_path / "cache"))
        os.killpg(ninja.pid, signal.SIGKILL)


def test_what_a_server_compiled_for_a_build_that_is_killed_ends_too(yard: Yard, tmp_path: Path) -> None:
    """It is not below ninja: its launcher hears that the supervisor is gone, and ends it."""
    first_do(
        yard, tmp_path, f"echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/began; read x <{tmp_path}/go"
    )
    with yard.start(yard.ninja, "-j1", SCCACHE_DIR=str(tmp_path / "cache")) as ninja:
        until((tmp_path / "began").exists)
        running = Path("/proc") / (tmp_path / "began").read_text().strip()
        os.kill(ninja.pid, signal.SIGKILL)
        until(lambda: not running.exists() and not servers(tmp_path / "cache"))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ninja.pid, signal.SIGKILL)


def test_asked_to_stop_what_runs_behind_the_server_is_finished(yard: Yard, tmp_path: Path) -> None:
    """One of two compilers runs, one waits for memory: the first counts, the second is the next run's."""
    first_do(yard, tmp_path, f"echo x >>{tmp_path}/began; read x <{tmp_path}/go")
    yard.expect(other=1 << 60)  # so that one alone fits
    with yard.start(yard.ninja, "-j2", SCCACHE_DIR=str(tmp_path / "cache")) as ninja:
        until((tmp_path / "began").exists)
        until(lambda: waiting(yard) == 1)
        (yard.shim / "stop-asked").touch()
        assert ninja.stdout is not None
        assert any("1 that run are finished" in line for line in ninja.stdout)
        (tmp_path / "go").write_text("x\n", encoding="utf-8")
        began = time.monotonic()
        said, _ = ninja.communicate(timeout=100)
    (yard.shim / "stop-asked").unlink()

    assert ninja.returncode == STOPPED, said
    assert time.monotonic() - began < _WRITES_S, "nobody waits for what was held"
    assert (tmp_path / "began").read_text() == "x\n"
    assert len(list(yard.build.glob("*.o"))) == 1
    assert not servers(tmp_path / "cache")


def waiting(yard: Yard) -> int:
    """Compilers that wait for memory now, as who watches is told."""
    try:
        return int(json.loads((yard.shim / "live.json").read_text(encoding="utf-8"))["waiting"])
    except (OSError, ValueError):
        return 0


def test_what_it_does_not_have_goes_to_a_pool_and_comes_back_from_one_that_is_gone(
    yard: Yard, tmp_path: Path
) -> None:
    """The compiler that its server starts is sent away as one of ninja's is; a hit goes to nobody."""
    away = tmp_path / "away"
    away.write_text(
        f'#!/bin/sh\necho "$WHERE" >>{tmp_path}/sent\n'
        '[ "$WHERE" = good ] || { echo "away ERROR: gone" >&2; exit 116; }\nexec "$@"\n',
        encoding="utf-8",
    )
    away.chmod(0o755)
    hosts = [{"name": name, "spec": name, "slots": 1} for name in ("gone", "good")]
    told = {"program": str(away), "environ": {}, "variable": "WHERE", "hosts": hosts}
    (yard.shim / "pool.json").write_text(json.dumps(told), encoding="utf-8")
    try:
        for name in ("first", "second"):
            code, said = built(yard, tmp_path / "cache")
            assert code == 0, said
            (yard.build / "a.o").rename(tmp_path / name)
            (yard.build / "b.o").unlink()
        used = json.loads((yard.shim / "pool-used.json").read_text(encoding="utf-8"))
    finally:
        for name in ("pool.json", "pool-used.json"):
            (yard.shim / name).unlink()

    assert (used["hosts"]["gone"]["back"], used["hosts"]["good"]["back"]) == (1, 0)
    assert used["hosts"]["good"]["done"] > 0
    assert len((tmp_path / "sent").read_text().split()) <= 4, "the second build hit"
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert counts(yard, "cache_hits") == 2


def test_two_builds_at_once_have_a_directory_each(yard: Yard, tmp_path: Path) -> None:
    """A directory is made for one server at a time, so the second build takes the next one."""
    os.mkfifo(tmp_path / "go")
    yard.write(f"rule wait\n  command = : >{tmp_path}/began; cat {tmp_path}/go; : >$out\nbuild w: wait\n")
    with yard.start(yard.ninja, SCCACHE_DIR=str(tmp_path / "cache")) as first:
        until((tmp_path / "began").exists)
        yard.write(RULES.format(launch=yard.launch))
        code, said = built(yard, tmp_path / "cache")
        second = yard.left()
        (tmp_path / "go").write_text("x", encoding="utf-8")
        first.communicate(timeout=60)

    assert code == 0, said
    assert {path.name for path in tmp_path.glob("cache*") if path.is_dir()} == {"cache", "cache-2"}
    assert second["compiler_cache"]["beside"], "so nobody wonders that it has nothing"


def test_the_compilers_are_those_that_cmake_chose() -> None:
    """A stand-in is laid for each of them; what is not absolute has none."""
    text = """\
CMAKE_C_COMPILER:FILEPATH=/usr/bin/cc
CMAKE_CXX_COMPILER:STRING=c++
CMAKE_CUDA_COMPILER:PATH=/usr/local/cuda/bin/nvcc
CMAKE_CUDA_COMPILER_LAUNCHER:STRING=/x/launch
"""
    assert compilers_of(parse_cache(text)) == ["/usr/bin/cc", "/usr/local/cuda/bin/nvcc"]


@pytest.mark.skipif(not NVCC, reason="no nvcc here")
def test_device_code_reserves_its_memory_before_the_cache_is_asked(yard: Yard, tmp_path: Path) -> None:
    """The steps of nvcc are the server's own: what they take is reserved, and nothing is learned of it."""
    (yard.build.parent / "k.cu").write_text("__global__ void k(int *a) { *a = 1; }\n", encoding="utf-8")
    (yard.build / "CMakeCache.txt").write_text(
        f"CMAKE_CUDA_COMPILER:FILEPATH={NVCC}\nCMAKE_CXX_COMPILER:STRING=/usr/bin/g++\n", encoding="utf-8"
    )
    rule = f"  command = {yard.launch} {NVCC} -gencode arch=compute_90,code=sm_90 -x cu -c $in -o $out\n"
    yard.write(f"rule nv\n{rule}build k.o: nv ../k.cu\n")
    assert built(yard, tmp_path / "cache")[0] == 0
    assert (yard.left()["edges_blind"], yard.left()["edges_admitted"]) == (1, 1)
    assert not yard.seen()
    (yard.build / "k.o").unlink()

    assert built(yard, tmp_path / "cache")[0] == 0
    assert yard.left()["compiler_cache"]["cache"]["stats"]["cache_hits"]["counts"]["CUDA"] == 1


def until(holds: Callable[[], bool]) -> None:
    """Look again and again, for a while."""
    for _ in looks(30.0):
        if holds():
            return
    raise AssertionError("it does not happen")


def looks(seconds: float) -> Iterator[None]:
    """Now and then, for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.01)
