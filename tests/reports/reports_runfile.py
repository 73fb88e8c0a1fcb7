"""Chapter S of the public reports: NVIDIA's runfile. Each entry sets its trap for the real guest script and judge.

The installer is a stand-in that falls into the traps as the reports say, see `stand_in_runfile.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reports.shape import Entry
from tests.toolchains import stand_in_runfile
from tests.toolchains.stand_in_runfile import Run, World, make_runfile
from torchbuild.errors import ConflictError
from torchbuild.knowledge import cuda as table
from torchbuild.model.finding import Finding
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import cuda_runfile, runfile_proof
from torchbuild.toolchains.proof import Wanted, judge

__all__ = ["ENTRIES", "LATER", "PREVENTIONS"]

NOBODY = 65534


def _found(run: Run, reference: str) -> Finding:
    """The finding of a check; there must be one."""
    found = judge(runfile_proof.CHECKS, run.part, Wanted(), run.seen)
    assert reference in {item.reference for item in found}, f"nobody looked at {reference}"
    return next(item for item in found if item.reference == reference)


def _whole(run: Run) -> None:
    assert run.seen["installed"], run.seen


def _small_temporary_folder(tmp_path: Path) -> None:
    """S1: two runfiles' worth of space is wanted, and the temporary folder is smaller than one."""
    world = World(tmp_path)
    world.mounts.append(f"mount -t tmpfs -o size=256k tmpfs '{world.scratch}'")
    run = world.run(make_runfile(tmp_path, padding=1 << 20))
    space = _found(run, "runfile-space")
    assert (space.outcome, run.seen["hindered"]) == ("failed", ["space"])
    assert str(world.scratch) in space.what
    assert "exit_code" not in run.seen


def _cause_in_the_log_alone(tmp_path: Path) -> None:
    """S2: the output says that something failed, and only the log says what."""
    run = World(tmp_path).run(make_runfile(tmp_path, "boost-space"))
    assert "No space" not in "".join(run.seen["output"])
    log = _found(run, "runfile-log")
    assert log.outcome == "failed"
    assert log.seen.endswith("[ERROR]: boost::filesystem::create_directory: No space left on device")


def _german(tmp_path: Path) -> None:
    """S4: a German machine."""
    world = World(tmp_path)
    world.environment = {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"}
    run = world.run(make_runfile(tmp_path, "locale"))
    assert "std::out_of_range" not in "".join(run.seen["output"])
    _whole(run)


def _driver_in_use(tmp_path: Path) -> None:
    """S6: an installer that is not told to install the toolkit alone reaches for the driver."""
    run = World(tmp_path).run(make_runfile(tmp_path, "driver"))
    assert "nvidia-drm" not in str(run.seen["logs"])
    assert run.seen["driver_touched"] is False
    _whole(run)


def _no_gcc(tmp_path: Path) -> None:
    """S7: no gcc, or one that the installer does not like."""
    run = World(tmp_path).run(make_runfile(tmp_path, "gcc"))
    assert "gcc" not in str(run.seen["logs"])
    _whole(run)


def _log_elsewhere(tmp_path: Path) -> None:
    """S8: the log of an abort lies in another place for root than for others."""
    for uid in (0, NOBODY) if os.geteuid() == 0 else (0,):
        folder = tmp_path / str(uid)
        folder.mkdir()
        run = World(folder, uid=uid).run(make_runfile(folder, "symlink"))
        assert run.seen["exit_code"] == 134
        assert "create_symlink" in str(run.seen["logs"])


def _half_of_an_earlier_try(tmp_path: Path) -> None:
    """S9: what an earlier try left makes the next one fail."""
    world = World(tmp_path)
    for place in (world.prefix, world.prefix.with_name("cuda.partial")):
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "nvcc").write_text("half")
    _whole(world.run(make_runfile(tmp_path, "poison")))


def _name_made_up(_tmp_path: Path) -> None:
    """S10: a release whose runfile nobody knows is refused, and every known name is written out in the table."""
    source = {"git": "https://example.org/sample.git", "ref": "v1"}
    least = {"schema": 1, "name": "sample", "source": source, "wheel": {"version": "1.0.0"}}
    recipe = Recipe.model_validate(least | {"cuda": {"version": "13.1.9", "from": "runfile"}})
    try:
        asked = cuda_runfile.questions(recipe)
    except ConflictError as error:
        assert "13.1.0" in str(error.why)  # noqa: PT017  what is raised elsewhere must get out
    else:
        raise AssertionError(f"made up: {asked.files[0].locator}")


def _success_with_nothing(tmp_path: Path) -> None:
    """S11: exit code 0 and an empty folder; samples that take everything with them; a home and manuals written to."""
    empty, rest = tmp_path / "empty", tmp_path / "rest"
    for folder in (empty, rest / "man"):
        folder.mkdir(parents=True)
    run = World(empty).run(make_runfile(empty, "empty"))
    assert run.seen["exit_code"] == 0
    assert _found(run, "runfile-programs").outcome == "failed"
    world = World(rest)
    world.environment = {"HOME": str(rest / "home")}
    _whole(world.run(make_runfile(rest, "samples", man=rest / "man")))
    assert not (rest / "home").exists()
    assert list((rest / "man").iterdir()) == []


def _log_of_somebody_else(tmp_path: Path) -> None:
    """Also: a log of another user, over which the installer crashes."""
    world = World(tmp_path, uid=NOBODY)
    (world.tmp / "cuda-installer.log").touch()
    _whole(world.run(make_runfile(tmp_path)))


def _no_programs_in_the_temporary_folder(tmp_path: Path) -> None:
    """Also: a temporary folder mounted noexec, from which the archive cannot start what it unpacked."""
    world = World(tmp_path)
    world.mounts.append(f"mount -t tmpfs -o noexec tmpfs '{world.scratch}'")
    run = world.run(make_runfile(tmp_path))
    assert _found(run, "runfile-executable").outcome == "failed"
    assert "exit_code" not in run.seen


ENTRIES: dict[str, Entry] = {
    "S1": Entry(
        _small_temporary_folder,
        ("runfile-space",),
        "Too little space to unpack is found before the installer starts, with figures.",
    ),
    "S2": Entry(
        _cause_in_the_log_alone,
        ("runfile-log", "runfile-log-places"),
        "The cause that only the installer's log has is told.",
    ),
    "S4": Entry(_german, ("runfile-environment",), "The machine's language does not reach the installer."),
    "S6": Entry(_driver_in_use, ("runfile-toolkit-alone",), "The driver is never touched."),
    "S7": Entry(
        _no_gcc, ("runfile-override",), "The installer does not judge the host compiler; our probe does."
    ),
    "S8": Entry(_log_elsewhere, ("runfile-log-places",), "The log is found in each place where it may lie."),
    "S9": Entry(
        _half_of_an_earlier_try, ("runfile-fresh",), "An installation that was cut off poisons no later one."
    ),
    "S10": Entry(_name_made_up, ("runfile-table",), "No runfile's name is made up from its release."),
    "S11": Entry(
        _success_with_nothing,
        ("runfile-programs", "runfile-no-manuals"),
        "An installer that ends well and leaves nothing is found out; nothing is written elsewhere.",
    ),
    "S-foreign-log": Entry(
        _log_of_somebody_else,
        ("runfile-isolation",),
        "A log that another user left makes no installer crash.",
    ),
    "S-noexec": Entry(
        _no_programs_in_the_temporary_folder,
        ("runfile-executable",),
        "A temporary folder in which no program starts is found before the installer starts.",
    ),
}

LATER: dict[str, str] = {}
"""None: what of this chapter shows in a log alone (S8's abort) is read from it here."""


def _without_check(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.delitem(runfile_proof.CHECKS, name)


def _without_option(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    options = tuple(option for option in cuda_runfile.OPTIONS if option != name)
    return lambda patch: patch.setattr(cuda_runfile, "OPTIONS", options)


def _without_step(name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(stand_in_runfile.REMOVED, name, value)


def _callers_environment(patch: pytest.MonkeyPatch) -> None:
    kept = {name: value for name, value in cuda_runfile.ENVIRONMENT.items() if name != "LC_ALL"}
    patch.setattr(cuda_runfile, "ENVIRONMENT", kept)
    patch.setattr(cuda_runfile, "KEPT", ("LANG", "LC_ALL"))


def _names_by_rule(patch: pytest.MonkeyPatch) -> None:
    def made_up(version: str) -> Any:
        row = table.cuda_release(version) or table.cuda_releases()[-1]
        return row.model_copy(update={"version": version})

    patch.setattr(cuda_runfile, "cuda_release", made_up)


def _no_log_places(patch: pytest.MonkeyPatch) -> None:
    fact = table.installer_fact().model_copy(update={"logs": (), "driver_log": "/nowhere"})
    patch.setattr(cuda_runfile, "installer_fact", lambda: fact)


PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "runfile-environment": _callers_environment,
    "runfile-executable": _without_check("executable"),
    "runfile-fresh": _without_step("_fresh", []),
    "runfile-isolation": _without_step("_refusal", "taken away"),
    "runfile-log": _without_check("log"),
    "runfile-log-places": _no_log_places,
    "runfile-no-manuals": _without_option("--no-man-page"),
    "runfile-override": _without_option("--override"),
    "runfile-programs": _without_check("programs"),
    "runfile-space": _without_check("space"),
    "runfile-table": _names_by_rule,
    "runfile-toolkit-alone": _without_option("--toolkit"),
}
