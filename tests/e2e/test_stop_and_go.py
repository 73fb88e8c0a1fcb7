"""A build is stopped in the middle of its compilers and goes on: what was finished is not made again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(1800)

UNITS = 12
A_UNIT = "slow.dir/slow"
"""What a line of progress names while any of them compiles; no single one is sure to be named."""
MARK = f"stop-and-go-{os.getpid()}"
RULES = f"""
foreach(number RANGE 1 {UNITS})
  configure_file(slow.cpp.in slow${{number}}.cpp COPYONLY)
  list(APPEND SLOW ${{CMAKE_CURRENT_BINARY_DIR}}/slow${{number}}.cpp)
endforeach()
add_library(slow OBJECT ${{SLOW}})
"""
UNIT = "#include <regex>\n#include <map>\nstatic std::map<std::string, std::regex> all;\n" + "".join(
    f"template<int N> struct t{n} {{ static bool f(std::string s) {{ return std::regex_match(s, all[s]); }} }};"
    f"bool f{n}(std::string s) {{ return t{n}<{n}>::f(s); }}\n"
    for n in range(3)
)


def slow(argument: Callable[..., tuple[str, ...]], image: str = "") -> tuple[str, ...]:
    """The recipe, with units that take a second each, here or in a container."""
    text = "printf '%s' \"$1\" >>CMakeLists.txt; printf '%s' \"$2\" >slow.cpp.in"
    argv = json.dumps(["/bin/sh", "-c", text, "sh", RULES, UNIT])
    more = (f"source.prepare=[{{argv={argv}}}]", "machine.jobs=2", f'build.env.MARK="{MARK}"')
    if image:
        return argument("recipe-container.toml", f'image.name="{image}"', *more, name="torchlet-slow-inside")
    return argument("setup-py", *more, name="torchlet-slow")


def finished(root: Path) -> dict[str, str]:
    """What ninja noted as made -> when it began and ended; nothing where it has not begun."""
    lines = [line for log in root.glob("source/build/.ninja_log") for line in log.read_text().splitlines()]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {row[3]: f"{row[0]} {row[1]} {row[2]}" for row in rows}


def heard(process: subprocess.Popen[str]) -> Callable[[str], str]:
    """Waits for a line of stderr that holds a text."""
    lines: list[str] = []
    news = threading.Condition()

    def read() -> None:
        for line in process.stderr or ():
            with news:
                lines.append(line)
                news.notify_all()

    threading.Thread(target=read, daemon=True).start()

    def wait(text: str) -> str:
        with news:
            assert news.wait_for(lambda: any(text in line for line in lines), 600), "".join(lines)
            return next(line for line in lines if text in line)

    return wait


@pytest.fixture
def run_dir(fresh: Any) -> Callable[[], Path]:
    """The one workspace."""

    def find() -> Path:
        (path,) = (item for item in fresh.builds.iterdir() if item.name.startswith("torchlet-slow"))
        return Path(path)

    return find


@pytest.mark.parametrize("where", ["here", "container"])
def test_ctrl_c_lets_what_compiles_end_and_the_next_run_goes_on(
    fresh: Any, arguments: Any, run_dir: Any, alive: Any, where: str, request: pytest.FixtureRequest
) -> None:
    """Exit code 130, a report, no process left, every object that was finished kept, and none made twice."""
    image = request.getfixturevalue("engine_image") if where == "container" else ""
    command = ("build", *slow(arguments, image), "--until", "compile", "--json")
    with fresh.start(*command) as process:
        wait = heard(process)
        wait(A_UNIT)
        process.send_signal(signal.SIGINT)
        wait("what compiles now is finished")
        out = process.stdout.read()

    error = json.loads(out)["error"]
    assert (process.returncode, error["reference"], error["exit_code"]) == (130, "interrupted", 130)
    count, total = re.search(r"after (\d+) of (\d+) edges of compile", error["what"]).groups()  # type: ignore[union-attr]
    root = run_dir() / "root"
    before = finished(root)
    assert 0 < int(count) == len(before) < int(total)
    assert alive(MARK) == []
    report = json.loads((run_dir() / "report.json").read_text())
    assert (report["outcome"], report["stages"][-1]["outcome"]) == ("stopped", "stopped")

    ended = fresh.good(*command)

    after = finished(root)
    assert {name: after[name] for name in before} == before
    assert ended.outcomes["configure"] == "reused"
    (compiled,) = [
        item
        for item in json.loads(Path(ended.json["report"]).read_text())["stages"]
        if item["stage"] == "compile"
    ]
    assert int(compiled["evidence"]["edges"]) == int(total) - int(count)


def test_a_second_ctrl_c_ends_all_at_once(fresh: Any, arguments: Any, run_dir: Any, alive: Any) -> None:
    """What was not finished is not taken for finished, nothing lives on, and the next run makes a whole library."""
    command = ("build", *slow(arguments), "--until", "compile", "--json")
    with fresh.start(*command) as process:
        wait = heard(process)
        wait(A_UNIT)
        process.send_signal(signal.SIGINT)
        wait("what compiles now is finished")
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()

    assert (process.returncode, json.loads(out)["error"]["reference"]) == (130, "interrupted")
    root = run_dir() / "root"
    before = finished(root)
    assert alive(MARK) == []

    fresh.good(*command)

    after = finished(root)
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)


def test_after_its_time_a_build_ends_by_itself_and_goes_on(fresh: Any, arguments: Any, run_dir: Any) -> None:
    """Exit code 75 until it is done; each run makes what the one before did not, and no object is made twice."""
    command = ("build", *slow(arguments), "--until", "compile", "--json")
    fresh.good(*command[:-2], "configure", "--json")
    enough, root, made, codes = 4, run_dir() / "root", dict[str, str](), list[int]()
    while not codes or codes[-1] != 0:
        ended = fresh.run(*command, "--stop-after", f"{enough}s")
        codes.append(ended.code)
        now = {name: made_at for name, made_at in finished(root).items() if name.endswith(".o")}
        assert {name: now[name] for name in made} == made
        assert ended.code == 0 or ended.error["reference"] == "out-of-time"
        assert len(codes) < 40
        if len(now) == len(made):
            enough *= 2  # a busy machine got no further than the first edges
        made = now

    assert set(codes[:-1]) == {75}
    assert sum("slow" in name for name in made) == UNITS
