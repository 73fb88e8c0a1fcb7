"""What runs at this moment, as the supervisor tells it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from supervised import Yard

from torchbuild.shim.admission import Edge
from torchbuild.shim.live import MOST_EDGES, CacheCount, Live, named
from torchbuild.shim.processes import Process, Processes

NOBODY = Processes([])


def told(path: Path) -> dict[str, Any]:
    """What the file says."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/bin/sh -c ccache g++ -O2 -o x/a.cpp.o -c /s/a.cpp", "x/a.cpp.o"),
        ("/bin/sh -c : && /usr/bin/g++ -shared -o lib/libx.so @lib.rsp && :", "lib/libx.so"),
        ("/bin/sh -c : && cmake -E rm -f lib/libx.a && ar qc lib/libx.a a.o && :", "lib/libx.a"),
        ("/bin/sh -c cd /s && /venv/bin/python -m torchgen.gen --x", "python torchgen.gen"),
        ("/usr/bin/cmake -P cmake_install.cmake", "cmake cmake_install.cmake"),
        ("make -C nccl", "make nccl"),
        ("", ""),
    ],
)
def test_an_edge_is_named_by_what_it_makes(command: str, name: str) -> None:
    """Else by its program, and the script that this runs."""
    assert named(command) == name


def test_those_that_run_longest_come_first(tmp_path: Path) -> None:
    """With their time; those that wait for memory say so, and are counted."""
    now = time.monotonic()
    old, new = Edge("old.o", 1, now - 60), Edge("new.o", 1, now - 1)
    live = Live(str(tmp_path / "live.json"))

    live.tell(NOBODY, 0, {7: new, 8: old}, [new], tokens=1, jobs=2)

    said = told(tmp_path / "live.json")
    assert [(row["name"], round(row["s"]), row["waits"]) for row in said["edges"]] == [
        ("old.o", 60, False),
        ("new.o", 1, True),
    ]
    assert (said["running"], said["waiting"], said["tokens"], said["jobs"]) == (2, 1, 1, 2)
    assert "hits" not in said
    live.end()
    assert list(tmp_path.iterdir()) == []


def test_an_edge_that_need_not_ask_is_shown_once(tmp_path: Path) -> None:
    """A link has no launcher; a compiler that has one is not told twice, however deep it lies below ninja."""
    live = Live(str(tmp_path / "live.json"))
    script = ["sh", "-c", "echo; read x", "-o", "lib/libx.so"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as link:
        assert link.stdout is not None
        link.stdout.readline()  # it is loaded
        seen = Processes(
            [
                Process(link.pid, 1, "sh", 0, is_over=False),
                Process(2_000_000_001, 1, "sh", 0, is_over=False),
                Process(2_000_000_002, 2_000_000_001, "ccache", 0, is_over=False),
                Process(2_000_000_003, 2_000_000_002, "launch", 0, is_over=False),
                Process(2_000_000_004, 1, "gone", 0, is_over=False),
            ]
        )
        live.tell(seen, 1, {2_000_000_003: Edge("a.o", 1, time.monotonic())}, [])
        link.communicate()

    assert sorted(row["name"] for row in told(tmp_path / "live.json")["edges"]) == [
        "a.o",
        "gone",
        "lib/libx.so",
    ]


def test_the_file_stays_small(tmp_path: Path) -> None:
    """A thousand edges with names of 10,000 characters are a few lines."""
    edges = {pid: Edge("x" * 10_000 + f"{pid}.o", 1, 0.0) for pid in range(1000)}
    live = Live(str(tmp_path / "live.json"))

    live.tell(NOBODY, 0, edges, [])

    said = told(tmp_path / "live.json")
    assert len(said["edges"]) == MOST_EDGES
    assert said["running"] == 1000
    assert (tmp_path / "live.json").stat().st_size < 10_000


def test_a_place_that_is_gone_stops_no_build(tmp_path: Path) -> None:
    """No build fails for want of a picture."""
    live = Live(str(tmp_path / "none" / "live.json"))

    live.tell(NOBODY, 0, {}, [])
    live.end()

    assert live.is_due(time.monotonic() + 2)


def test_the_cache_is_counted_while_its_log_grows(tmp_path: Path) -> None:
    """Only what is new is read, also where a line is cut."""
    log = tmp_path / "log"
    count = CacheCount(str(log))
    first = count.told()
    log.write_text("# a.c\ndirect_cache_hit\nlocal_storage_hit\n# b.c\ncache_mi", encoding="utf-8")
    second = count.told()
    with log.open("a", encoding="utf-8") as handle:
        handle.write("ss\n# c.c\npreprocessed_cache_hit\n")

    assert first == {"hits": 0, "calls": 0}
    assert second == {"hits": 1, "calls": 1}
    assert count.told() == {"hits": 2, "calls": 3}
    assert CacheCount(None).told() == {}


def test_a_real_ninja_is_watched(tmp_path: Path) -> None:
    """While it works the file names what it makes; when it has ended the file is gone."""
    yard = Yard(tmp_path / "yard")
    yard.expect()
    os.mkfifo(yard.root / "go")
    command = "../../shim/launch sh -c 'cat ../../go; : >$out' -o $out"
    yard.write(f"rule cc\n  command = {command}\nbuild a/b.cpp.o: cc\n")
    live = yard.shim / "live.json"
    with yard.start(yard.ninja, "-j2") as ninja:
        end = time.monotonic() + 60
        while not (live.exists() and told(live)["edges"]) and time.monotonic() < end:
            os.sched_yield()
        said = told(live)
        (yard.root / "go").open("w").close()
        ninja.communicate(timeout=60)

    assert [row["name"] for row in said["edges"]] == ["a/b.cpp.o"]
    assert (said["jobs"], said["tokens"]) == (2, 1)
    assert 0 < said["memory"] < said["memory_total"]
    assert not live.exists()
