"""What icecream needs inside a build, with stand-ins for its programs; the real ones: tests/e2e."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchbuild.shim import icecream as icecream_module
from torchbuild.shim.icecream import REFUSED, Icecream
from torchbuild.shim.pool_engines import open_pool

ICECC = (
    '#!/bin/sh\n[ "$1" = --build-native ] && { : >packed-by-$(basename "$2").tar.gz; exit 0; }\nexec "$@"\n'
)
ICECCD = '#!/bin/sh\nwhile [ "$1" != -l ]; do shift; done\necho "{said}" >"$2"\nexec sleep 60\n'
FAKE_CC = '#!/bin/sh\necho "$0 $*"\n'


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An order, and programs on PATH that do as they are called for."""
    programs = tmp_path / "bin"
    programs.mkdir()
    lay(programs / "icecc", ICECC)
    lay(programs / "iceccd", ICECCD.format(said="Connected to scheduler (I am known as x)"))
    lay(programs / "c++", FAKE_CC)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    compilers = [str(programs / "cc"), str(programs / "c++")]
    return {"scheduler": "s:8765", "folder": str(tmp_path / "pool"), "compilers": compilers}


def lay(place: Path, text: str) -> None:
    """A program."""
    place.write_text(text, encoding="utf-8")
    place.chmod(0o755)


@pytest.fixture
def icecream(told: dict[str, Any]) -> Iterator[Icecream]:
    """Not started; ended after the test."""
    made = Icecream(told)
    yield made
    made.stop()


def test_compilers_are_packed_and_the_scheduler_is_waited_for(
    icecream: Icecream, told: dict[str, Any]
) -> None:
    """Once: the look before the build has packed what the build sends."""
    assert icecream.start() == ""
    packed = Path(told["folder"], "packed.tar.gz")
    before = packed.stat().st_mtime_ns
    icecream.stop()

    assert icecream.start() == ""
    assert packed.stat().st_mtime_ns == before


def test_nothing_is_compiled_behind_the_supervisors_back(icecream: Icecream, told: dict[str, Any]) -> None:
    """What the client takes for a compiler preprocesses and does no more: it would ask nobody for memory."""
    icecream.start()
    away = [f"{told['folder']}/away", told["compilers"][1]]

    cpp = subprocess.run([*away, "-E", "a.cpp"], capture_output=True, text=True, check=False)
    compiled = subprocess.run([*away, "-c", "a.cpp"], capture_output=True, text=True, check=False)

    assert (cpp.returncode, cpp.stdout) == (0, f"{told['compilers'][1]} -E a.cpp\n")
    assert (compiled.returncode, compiled.stdout) == (REFUSED, "")
    assert "ERROR: no machine of the pool takes it now" in compiled.stderr


@pytest.mark.parametrize("other", ["/usr/bin/other", "/opt/another/c++"])
def test_another_compiler_than_those_that_were_packed_is_not_sent(
    icecream: Icecream, told: dict[str, Any], other: str
) -> None:
    """Also where it has the same name: it would be compiled by one that it did not ask for."""
    icecream.start()

    done = subprocess.run([f"{told['folder']}/away", other, "-c"], capture_output=True, check=False)

    assert done.returncode == REFUSED
    assert b"is not packed" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("iceccd", "#!/bin/sh\nexit 1\n", "does not reach the scheduler s:8765"),
        ("icecc", "#!/bin/sh\necho no compiler\n", "packs nothing: no compiler"),
        ("iceccd", None, "not there, or no programs"),
    ],
    ids=["daemon ends", "nothing packed", "no daemon"],
)
def test_what_cannot_be_served_is_compiled_here(
    told: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
    wanted: str,
) -> None:
    """With the reason; the build has no pool then."""
    place = tmp_path / "bin" / name
    if text is None:
        place.unlink()
        monkeypatch.setattr("torchbuild.shim.icecream._MORE_PATH", "")
    else:
        lay(place, text)
    hosts = [{"name": "s:8765", "spec": "s", "slots": 4}]
    pool, leave = open_pool({"icecream": told, "program": "away", "hosts": hosts})
    leave()

    assert pool.slots == 0
    said = capfd.readouterr().err
    assert "all is compiled here" in said
    assert wanted in said


def test_its_daemon_ends_with_a_build_that_is_killed(told: dict[str, Any], tmp_path: Path) -> None:
    """Nobody is left to end it then."""
    (tmp_path / "bin" / "iceccd").write_text(
        ICECCD.format(said="Connected to scheduler (I am known as x)").replace(
            "exec", f"echo $$ >{tmp_path}/pid; exec"
        )
    )
    script = (
        "import json, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from shim.icecream import Icecream; from shim.tied import tied_to_us\n"
        "print(Icecream(json.loads(sys.argv[2]), tied_to_us()).start(), flush=True); time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", script, str(Path(icecream_module.__file__).parents[1]), json.dumps(told)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdout is not None
        assert build.stdout.readline() == "\n"
        watched = os.pidfd_open(int((tmp_path / "pid").read_text()))
        build.kill()

        assert select.select([watched], [], [], 30)[0]
    os.close(watched)
