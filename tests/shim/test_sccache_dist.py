"""A real sccache that has others compile, with a stand-in for its scheduler and its machine: tests/dist_stand_in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from supervised import Yard

from tests.dist_stand_in import Pool, stand_in_pool, why_none
from torchbuild.shim.sccache_dist import DENIED, REFUSED, SccacheDist

PROGRAM = shutil.which("sccache", path=f"{sysconfig.get_path('scripts')}:{os.defpath}") or ""
WHY = why_none() or ("" if PROGRAM else "no sccache here")
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)
CXX, TOKEN = "/usr/bin/g++", "t0ken-of-the-test"
SOURCE = "#include <map>\nint f(std::map<int, int>& m) {{ return m[{}]; }}\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the compiler is packed once."""
    return tmp_path_factory.mktemp("dist")


@pytest.fixture(scope="module")
def pool(home: Path) -> Iterator[Pool]:
    """Scheduler and machine."""
    (home / "there").mkdir()
    with stand_in_pool(home / "there", TOKEN) as made:
        yield made


def told(home: Path, port: int) -> dict[str, Any]:
    """What an order says of it."""
    url, folder = f"http://127.0.0.1:{port}", str(home / "pool")
    return {"url": url, "program": PROGRAM, "folder": folder, "compilers": [CXX]}


@pytest.fixture(scope="module")
def served(home: Path, pool: Pool) -> Iterator[SccacheDist]:
    """With the scheduler's token."""
    made = SccacheDist(told(home, pool.port), TOKEN, None)
    assert made.start() == ""
    yield made
    made.stop()


def sent(home: Path, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Send one source away."""
    (home / "u.cpp").write_text(source, encoding="utf-8")
    argv = [f"{home}/pool/away", CXX, "-O2", *words, "-c", "u.cpp", "-o", "u.o"]
    (home / "u.o").unlink(missing_ok=True)
    return subprocess.run(argv, cwd=home, capture_output=True, text=True, check=False)


def test_what_is_compiled_there_is_what_is_compiled_here(home: Path, pool: Pool, served: SccacheDist) -> None:
    """By the builder's own compiler, which was packed and sent: the same bytes; what it includes is noted here."""
    done = sent(home, SOURCE.format(1), "-MD", "-MF", "u.d")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    subprocess.run([CXX, "-O2", "-c", "u.cpp", "-o", "here.o"], cwd=home, check=True)
    assert (home / "u.o").read_bytes() == (home / "here.o").read_bytes()
    assert "/map" in (home / "u.d").read_text()
    assert pool.compiled == ["u.cpp"]
    assert "/api/v1/distserver/submit_toolchain/1" in pool.asked


@pytest.mark.parametrize(
    ("answer", "token", "code", "wanted"),
    [
        ("full", TOKEN, REFUSED, "sccache ERROR: Insufficient capacity"),
        ("", "another", DENIED, "sccache ERROR: Error 401"),
    ],
    ids=["no room", "token refused"],
)
def test_what_the_scheduler_refuses_is_not_compiled_behind_our_back(
    home: Path, pool: Pool, served: SccacheDist, answer: str, token: str, code: int, wanted: str
) -> None:
    """It comes back with the reason, for who admits it here."""
    pool.answer, pool.token = answer, token
    try:
        done = sent(home, SOURCE.format(2))
    finally:
        pool.answer, pool.token = "", TOKEN

    assert (done.returncode, done.stderr.startswith(wanted)) == (code, True), done.stderr
    assert not (home / "u.o").exists()
    assert TOKEN not in done.stderr


def test_an_error_in_a_source_is_the_compilers(home: Path, pool: Pool, served: SccacheDist) -> None:
    """With a compiler's exit code: the machine is not blamed for it."""
    done = sent(home, "int f() { return nothing; }\n")

    assert done.returncode == 1
    assert "was not declared in this scope" in done.stderr


def test_a_compiler_that_was_not_packed_is_not_sent(home: Path, served: SccacheDist) -> None:
    """It would be compiled by one that it did not ask for."""
    done = subprocess.run([f"{home}/pool/away", "/usr/bin/other", "-c"], capture_output=True, check=False)

    assert done.returncode == REFUSED
    assert b"is not packed" in done.stderr


def test_the_token_is_in_no_file_and_no_command_line(home: Path, pool: Pool, served: SccacheDist) -> None:
    """The server has read it; what it is started with, and what is left beside it, does not tell."""
    assert sent(home, SOURCE.format(3)).returncode == 0
    texts = [text for path in Path("/proc").glob("[0-9]*") for text in told_to(path)]

    assert texts
    assert not [text for text in texts if TOKEN.encode() in text]
    left = [path for path in (home / "pool").rglob("*") if path.is_file() and path.suffix != ".gz"]
    assert left
    assert all(TOKEN not in path.read_text(encoding="utf-8") for path in left)
    assert all(TOKEN not in value for environ in pool.environs for value in environ.values())


def told_to(process: Path) -> list[bytes]:
    """What one of that program was started with; other tests have theirs, which end while we look."""
    try:
        argv, environ = ((process / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return []
    return [argv, environ] if argv.split(b"\0")[0] == os.fsencode(PROGRAM) else []


@pytest.mark.parametrize(
    ("program", "compiler", "wanted"),
    [
        ("/no/sccache", CXX, "not there, or no program"),
        ("/bin/false", CXX, "packs nothing"),
    ],
    ids=["no program", "packs nothing"],
)
def test_what_cannot_be_served_says_why(tmp_path: Path, program: str, compiler: str, wanted: str) -> None:
    """All is compiled here then."""
    made = SccacheDist({**told(tmp_path, 1), "program": program, "compilers": [compiler]}, "", None)

    assert wanted in made.start()
    assert made.stop() == {}


@pytest.fixture
def yard(tmp_path: Path, home: Path, served: SccacheDist) -> Yard:
    """Ninja with the supervisor; the compiler is packed already."""
    made = Yard(tmp_path / "yard")
    made.expect()
    for number in range(6):
        (made.build.parent / f"u{number}.cpp").write_text(SOURCE.format(number), encoding="utf-8")
    lines = "".join(f"build u{number}.o: cxx ../u{number}.cpp\n" for number in range(6))
    made.write(f"rule cxx\n  command = {made.launch} {CXX} -O2 -c $in -o $out\n{lines}")
    return made


def order(yard: Yard, home: Path, port: int, token: str = TOKEN) -> None:
    """What the stage writes, and the token beside it."""
    (yard.root / "pool").mkdir()
    os.link(*(f"{root}/pool/packed{CXX}.tar.gz" for root in (home, laid(yard.root, "pool/packed/usr/bin"))))
    name = f"127.0.0.1:{port}"
    text = {
        "program": f"{yard.root}/pool/away",
        "environ": {},
        "variable": "TORCHBUILD_POOL",
        "hosts": [{"name": name, "spec": name, "slots": 2}],
        "sccache_dist": told(yard.root, port),
    }
    (yard.shim / "pool.json").write_text(json.dumps(text), encoding="utf-8")
    (yard.root / "pool-token").write_text(token, encoding="utf-8")


def laid(root: Path, folder: str) -> Path:
    """The root, with that folder in it."""
    (root / folder).mkdir(parents=True)
    return root


def used(yard: Yard) -> dict[str, Any]:
    """What became of the pool."""
    found: dict[str, Any] = json.loads((yard.shim / "pool-used.json").read_text(encoding="utf-8"))
    return found


def test_a_build_sends_what_has_room_there_and_says_who_compiled_it(
    yard: Yard, home: Path, pool: Pool
) -> None:
    """What is compiled elsewhere keeps no memory free here; each machine's share is told."""
    order(yard, home, pool.port)
    yard.expect(other=1 << 60)  # so that one alone fits here
    before = len(pool.compiled)

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    row = used(yard)["hosts"][f"127.0.0.1:{pool.port}"]
    assert row["done"] == row["sent"] == len(pool.compiled) - before > 0
    assert used(yard)["by"] == {pool.endpoint: row["done"]}
    assert yard.left()["edges_admitted"] == 6 - row["done"]


@pytest.mark.parametrize("why", ["gone", "refuses"])
def test_without_its_scheduler_a_build_compiles_here(yard: Yard, home: Path, pool: Pool, why: str) -> None:
    """Each compile asks for memory first, as in a build without a pool; the reason is told once."""
    order(yard, home, 1 if why == "gone" else pool.port, token="another")

    code, said = yard.run(yard.ninja, "-j2")

    assert code == 0, said
    assert yard.left()["edges_admitted"] == 6
    assert said.count("compiles nothing more for now") == 1
    assert ("could not communicate with scheduler" if why == "gone" else "Error 401") in said
    (row,) = used(yard)["hosts"].values()
    assert (row["done"], row["back"]) == (0, row["sent"])
