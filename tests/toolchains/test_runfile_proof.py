"""What came of NVIDIA's installer, judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.toolchains.stand_in_runfile import PROGRAMS, Run, World, make_runfile
from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.runfile_proof import CHECKS, install_error

PART = LockedPart(name="cuda", provider="runfile", version="12.4.1", prefix="/torchbuild/parts/cuda")
WELL: dict[str, Any] = {
    "file": {"path": "/inputs/x.run", "begins": "#!", "size": 5},
    "space": [{"path": "/work", "free": 9 << 30, "need": 8 << 30}],
    "temp": "/work/temp",
    "temp_refuses": "",
    "foreign": [],
    "left": [],
    "isolated": True,
    "isolation_why": "",
    "hindered": [],
    "user": 0,
    "exit_code": 0,
    "timed_out": False,
    "output": [],
    "logs": [],
    "driver_touched": False,
    "outside": [],
    "programs": dict.fromkeys(PROGRAMS, "there"),
}


def _judged(seen: Any) -> dict[str, Finding]:
    return {item.reference: item for item in judge(CHECKS, PART, Wanted(), seen)}


def _error(run: Run) -> StageError:
    error = install_error(run.part, judge(CHECKS, run.part, Wanted(), run.seen), run.seen, "install.log")
    assert error is not None
    return error


def test_a_whole_toolkit_passes_every_check(tmp_path: Path) -> None:
    """A real run of the stand-in fails nothing, warns of nothing, and every check ran."""
    run = World(tmp_path).run(make_runfile(tmp_path))

    found = judge(CHECKS, run.part, Wanted(), run.seen)

    assert {item.outcome for item in found} == {"passed"}
    assert {item.reference for item in found} == {
        item.reference for item in judge(CHECKS, PART, Wanted(), WELL)
    }
    assert install_error(run.part, found, run.seen) is None


@pytest.mark.parametrize(
    ("changed", "reference", "outcome", "seen"),
    [
        ({"file": {"path": "x", "begins": "<h", "size": 9}}, "runfile-file", "failed", "'<h', 9 bytes"),
        (
            {"space": [{"path": "/t", "free": 1 << 30, "need": 2 << 30}]},
            "runfile-space",
            "failed",
            "1.00 GiB",
        ),
        ({"temp_refuses": "Permission denied"}, "runfile-executable", "failed", "Permission denied"),
        ({"left": ["bin"]}, "runfile-left", "failed", "bin"),
        ({"isolated": False, "isolation_why": "refused"}, "runfile-isolation", "warned", "refused"),
        ({"exit_code": -11}, "runfile-exit", "failed", "exit code -11"),
        ({"exit_code": -9, "timed_out": True}, "runfile-exit", "failed", "after the time"),
        ({"exit_code": 0, "timed_out": True}, "runfile-exit", "failed", "after the time"),
        ({"logs": [{"path": "/l", "errors": ["[ERROR]: a"]}]}, "runfile-log", "warned", "/l: [ERROR]: a"),
        (
            {"exit_code": 1, "logs": [{"path": "/l", "errors": ["[ERROR]: a"]}]},
            *("runfile-log", "failed", "/l: [ERROR]: a"),
        ),
        ({"programs": {"bin/nvcc": "empty"}}, "runfile-programs", "failed", "bin/nvcc: empty"),
        ({"programs": {}}, "runfile-programs", "failed", "nobody looked"),
        ({"driver_touched": True}, "runfile-driver", "failed", "ran"),
        ({"outside": ["/usr/local/cuda"]}, "runfile-outside", "warned", "/usr/local/cuda"),
    ],
)
def test_each_check_says_what_it_saw(
    changed: dict[str, Any], reference: str, outcome: str, seen: str
) -> None:
    """One thing is wrong: its check says so, and what was wanted; the others do not join in."""
    found = _judged(WELL | changed)

    assert found[reference].outcome == outcome
    assert seen in found[reference].seen
    others = {item.reference for item in found.values() if item.outcome != "passed"} - {reference}
    assert others <= ({"runfile-exit"} if changed.get("exit_code") else set())


def test_a_foreign_log_counts_where_it_is_seen() -> None:
    """An installer with a /tmp of its own does not meet it."""
    log = {"foreign": [{"path": "/tmp/cuda-installer.log", "owner": 7}]}

    assert _judged(WELL | log)["runfile-foreign-log"].outcome == "passed"
    found = _judged(WELL | log | {"isolated": False})["runfile-foreign-log"]
    assert (found.outcome, found.seen) == ("failed", "/tmp/cuda-installer.log of user 7")


def test_what_was_not_started_is_not_run() -> None:
    """An installer that was not started has no exit code, no log and no traces, and none of these passed."""
    seen = {
        name: value
        for name, value in WELL.items()
        if name not in ("exit_code", "logs", "driver_touched", "outside")
    }

    found = _judged(seen | {"hindered": ["space"], "programs": dict.fromkeys(PROGRAMS, "missing")})

    not_run = {name for name, item in found.items() if item.outcome == "not run"}
    assert not_run == {"runfile-exit", "runfile-log", "runfile-driver", "runfile-outside"}
    assert "space" in found["runfile-exit"].what
    assert found["runfile-programs"].outcome == "failed"


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"file": 3, "space": {}, "logs": "x", "programs": []},
        {"exit_code": "0", "logs": [None], "space": [1]},
    ],
)
def test_hostile_reports_crash_nothing(seen: dict[str, Any]) -> None:
    """Whatever a builder prints as its report, it is judged, and never as a success."""
    found = judge(CHECKS, PART, Wanted(), seen)

    assert any(item.outcome == "failed" for item in found)
    assert install_error(PART, found, seen) is not None


@pytest.mark.parametrize(
    ("traps", "fix", "cause"),
    [
        (("boost-space",), "Free space", "not enough space"),
        (("symlink",), "Take a later patch", "could not make a link"),
        (("empty",), "Read the installer's own words", ""),
        (("half",), "Read the installer's own words", ""),
    ],
)
def test_the_error_names_the_cause(tmp_path: Path, traps: tuple[str, ...], fix: str, cause: str) -> None:
    """What, why with seen and wanted, the cause with its source, one thing to do, the lines that say so."""
    error = _error(World(tmp_path).run(make_runfile(tmp_path, *traps)))

    assert error.reference == "cuda-runfile-failed"
    assert "12.4.1" in error.what
    assert any(
        "programs of the toolkit: seen " in line and ", wanted all there" in line for line in error.why
    )
    assert error.fix.startswith(fix)
    assert bool(cause) is any(line.startswith("cause: ") and cause in line for line in error.why)
    assert error.link == "install.log"
    assert error.evidence


def test_without_space_the_error_says_how_much(tmp_path: Path) -> None:
    """Figures for free and needed space, and not that the installer failed."""
    error = _error(World(tmp_path).run(make_runfile(tmp_path), ratios={"temp": 2**40, "prefix": 1}))

    assert error.why[0].startswith("free space in ")
    assert "GiB free, wanted " in error.why[0]
    assert error.fix.startswith("Free space")
