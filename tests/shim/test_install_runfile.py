"""NVIDIA's installer, run in places of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.toolchains import stand_in_runfile
from tests.toolchains.stand_in_runfile import PROGRAMS, World, make_runfile

NOBODY = 65534
USERS = pytest.mark.parametrize("uid", [0, NOBODY], ids=["root", "nobody"])


def _without(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    monkeypatch.setitem(stand_in_runfile.REMOVED, name, value)


def _shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A builder that does not let anybody mount."""
    _without(monkeypatch, "_refusal", "Operation not permitted")


@USERS
def test_the_toolkit_lies_at_its_prefix_and_nothing_else_is_left(tmp_path: Path, uid: int) -> None:
    """After an installation there is the toolkit, and no trace in the machine's /tmp or /var/log."""
    world = World(tmp_path, uid=uid)

    seen = world.run(make_runfile(tmp_path)).seen

    assert (seen["exit_code"], seen["installed"], seen["hindered"]) == (0, True, [])
    assert (seen["isolated"], seen["isolation_why"], seen["user"]) == (True, "", uid)
    assert {str(path.relative_to(world.prefix)) for path in world.prefix.rglob("*") if path.is_file()} == set(
        PROGRAMS
    )
    assert [path.name for path in world.prefix.parent.iterdir()] == ["cuda"]
    assert list(world.scratch.iterdir()) == list(world.log.iterdir()) == []
    assert not list(world.tmp.glob("cuda*"))


@USERS
def test_the_log_is_read_wherever_it_is_written(tmp_path: Path, uid: int) -> None:
    """Root's installer logs in /var/log, everybody else's in /tmp: both are told."""
    (log,) = World(tmp_path, uid=uid).run(make_runfile(tmp_path, "warned")).seen["logs"]

    assert log["path"] == ("/tmp/cuda-installer.log" if uid else "/var/log/cuda-installer.log")
    assert log["errors"] == ["[ERROR]: a thing of no weight"]
    assert "[INFO]: Driver not installed." in log["tail"]


@USERS
def test_a_foreign_log_does_not_matter(tmp_path: Path, uid: int) -> None:
    """A log that somebody else left makes the installer crash; it does not see it."""
    world = World(tmp_path, uid=uid)
    place = world.tmp if uid else world.log
    (place / "cuda-installer.log").write_text("of yesterday")
    if not uid and os.geteuid() == 0:
        os.chown(place / "cuda-installer.log", 1, 1)

    seen = world.run(make_runfile(tmp_path)).seen

    assert [item["path"] for item in seen["foreign"]] == [
        f"/{'tmp' if uid else 'var/log'}/cuda-installer.log"
    ]
    assert (seen["hindered"], seen["installed"]) == ([], True)
    assert (place / "cuda-installer.log").read_text() == "of yesterday"


def test_a_foreign_log_that_is_in_the_way_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be mounted, the installer is not started into its crash."""
    world = World(tmp_path, uid=NOBODY)
    (world.tmp / "cuda-installer.log").write_text("of yesterday")
    _shared(monkeypatch)

    seen = world.run(make_runfile(tmp_path)).seen

    assert (seen["hindered"], seen["installed"]) == (["foreign"], False)
    assert seen["foreign"] == [{"owner": os.geteuid(), "path": "/tmp/cuda-installer.log"}]
    assert "exit_code" not in seen
    assert (world.tmp / "cuda-installer.log").exists()


@pytest.mark.parametrize("traps", [(), ("half",)], ids=["whole", "half"])
def test_without_mounts_only_a_whole_toolkit_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traps: tuple[str, ...]
) -> None:
    """In a builder that lets nobody mount the installer writes to the prefix, which is emptied if it fails."""
    world = World(tmp_path)
    _shared(monkeypatch)

    seen = world.run(make_runfile(tmp_path, *traps)).seen

    assert seen["isolation_why"] == "Operation not permitted"
    assert seen["installed"] is world.prefix.exists() is (not traps)
    assert (world.log / "cuda-installer.log").exists()


def test_a_prefix_that_is_a_mount_of_its_own_is_filled(tmp_path: Path) -> None:
    """Where no folder can take its place the toolkit is laid into it."""
    world = World(tmp_path)
    world.prefix.mkdir()
    world.mounts.append(f"mount -t tmpfs tmpfs '{world.prefix}'")

    assert world.run(make_runfile(tmp_path)).seen["installed"] is True
    assert (
        world.run(make_runfile(tmp_path, "half")).seen["programs"]["nvvm/bin/cicc"]
        == "No such file or directory"
    )


def test_what_an_earlier_try_left_is_gone(tmp_path: Path) -> None:
    """Half a toolkit, half an archive and old scratch poison nothing: every try begins with empty folders."""
    world = World(tmp_path)
    planted = (
        world.prefix,
        world.prefix.with_name("cuda.partial"),
        world.scratch / "temp",
        world.scratch / "home",
    )
    for place in planted:
        place.mkdir()
        (place / "left").write_text("half")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (world.prefix / "lib64").symlink_to(outside)

    seen = world.run(make_runfile(tmp_path, "poison")).seen

    assert seen["installed"] is True
    assert str(world.prefix / "left") in seen["removed"]
    assert (outside / "kept").exists()


def test_a_prefix_that_leads_elsewhere_is_replaced(tmp_path: Path) -> None:
    """What a link at the prefix leads to is somebody's, and is not emptied."""
    world = World(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    world.prefix.symlink_to(outside)

    assert world.run(make_runfile(tmp_path)).seen["installed"] is True
    assert (outside / "kept").exists()
    assert not world.prefix.is_symlink()


def test_killed_in_the_middle_the_same_command_makes_it_whole(tmp_path: Path) -> None:
    """Killed at its worst moment, an installation leaves nothing at the prefix, and the next one is whole."""
    world, mark = World(tmp_path), tmp_path / "mark"
    _, request = world.request(make_runfile(tmp_path, "hang", mark=mark))
    argv = world.argv(request)
    argv.insert(1, "--kill-child")
    argv[2:2] = ["--fork", "--pid", "--mount-proc"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as guest:
        deadline = time.monotonic() + 60
        while not mark.exists():
            assert time.monotonic() < deadline
            assert guest.poll() is None
            time.sleep(0.05)
        guest.send_signal(signal.SIGKILL)

    assert list(world.prefix.iterdir()) == []
    assert (world.prefix.with_name("cuda.partial") / "bin" / "nvcc").exists()

    seen = world.run(make_runfile(tmp_path, "poison")).seen

    assert seen["installed"] is True
    assert [path.name for path in world.prefix.parent.iterdir()] == ["cuda"]


def test_nothing_of_the_callers_environment_arrives(tmp_path: Path) -> None:
    """No DISPLAY, no SUDO_USER, no language, no PATH of the caller: six variables, each known."""
    world = World(tmp_path)
    world.environment = {
        "DISPLAY": ":0",
        "SUDO_USER": "me",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "de_DE.UTF-8",
        "HOME": "/root",
        "TMPDIR": "/tmp",
        "LD_LIBRARY_PATH": "/nowhere",
    }

    (log,) = world.run(make_runfile(tmp_path, "locale")).seen["logs"]

    variables = dict(
        line.removeprefix("[ENV]: ").split("=", 1) for line in log["tail"] if line.startswith("[ENV]")
    )
    for name in ("PWD", "OLDPWD", "SHLVL", "_", "USER_PWD", "ARCHIVE_DIR"):  # the shell's and makeself's own
        variables.pop(name, None)
    assert sorted(variables) == ["HOME", "LC_ALL", "PATH", "TAR_OPTIONS", "TERM", "TMPDIR"]
    assert variables["LC_ALL"] == "C"
    assert variables["HOME"] == str(world.scratch / "home")
    assert variables["TMPDIR"] == str(world.scratch / "temp")


def test_what_it_writes_at_home_is_told_and_thrown_away(tmp_path: Path) -> None:
    """Menu entries and the like land in a home of its own."""
    seen = World(tmp_path).run(make_runfile(tmp_path)).seen

    assert seen["home"] == [".local/share/applications/nsight.desktop"]


def test_what_it_changes_outside_is_told(tmp_path: Path) -> None:
    """A link that it makes beyond the toolkit is named."""
    link = tmp_path / "cuda"

    seen = (
        World(tmp_path)
        .run(make_runfile(tmp_path, link=link), outside=[str(link), str(tmp_path / "man")])
        .seen
    )

    assert (seen["outside"], seen["driver_touched"]) == ([str(link)], False)


def test_too_little_space_is_found_before(tmp_path: Path) -> None:
    """The installer is not started where it would run out of space; a file system that holds both is asked for both."""
    runfile = make_runfile(tmp_path)
    size = runfile.stat().st_size

    seen = World(tmp_path).run(runfile, ratios={"temp": 2, "prefix": 2**40}).seen

    assert (seen["hindered"], seen["installed"]) == (["space"], False)
    assert [place["need"] for place in seen["space"]] == [2 * size + size * 2**40]


def test_each_file_system_is_asked_for_its_share(tmp_path: Path) -> None:
    """A temporary folder on another file system needs its own part alone."""
    world, runfile = World(tmp_path), make_runfile(tmp_path)
    world.mounts.append(f"mount -t tmpfs -o size=1M tmpfs '{world.scratch}'")

    seen = world.run(runfile, ratios={"temp": 1000, "prefix": 1}).seen

    assert seen["hindered"] == ["space"]
    assert [place["need"] for place in seen["space"]] == [
        1000 * runfile.stat().st_size,
        runfile.stat().st_size,
    ]
    assert seen["space"][0]["free"] <= 1 << 20


def test_a_temporary_folder_without_programs_is_found_before(tmp_path: Path) -> None:
    """On a file system mounted noexec the archive would unpack and then not start."""
    world = World(tmp_path)
    world.mounts.append(f"mount -t tmpfs -o noexec tmpfs '{world.scratch}'")

    seen = world.run(make_runfile(tmp_path)).seen

    assert (seen["hindered"], seen["installed"]) == (["executable"], False)
    assert "Permission denied" in seen["temp_refuses"]


def test_a_real_extraction_without_space_ends_as_reports_say(tmp_path: Path) -> None:
    """The stand-in's header fails as NVIDIA's does: exit code 15, and its sentence about space."""
    world = World(tmp_path)
    world.mounts.append(f"mount -t tmpfs -o size=256k tmpfs '{world.scratch}'")

    seen = world.run(make_runfile(tmp_path, padding=1 << 20), ratios={"temp": 0, "prefix": 0}).seen

    said = "\n".join(seen["output"])
    assert seen["exit_code"] == 15
    assert "Extraction failed." in said
    assert "Ensure there is enough space in" in said
    assert "Signal caught, cleaning up" in said


@pytest.mark.parametrize(
    ("content", "begins"), [(b"<html>404 Not Found</html>", "<h"), (b"", ""), (b"\xff\xfe", "\ufffd\ufffd")]
)
def test_what_is_no_installer_is_not_started(tmp_path: Path, content: bytes, begins: str) -> None:
    """A page that was saved under the runfile's name is none."""
    runfile = tmp_path / "cuda_12.4.1_550.54.15_linux.run"
    runfile.write_bytes(content)

    seen = World(tmp_path).run(runfile).seen

    assert (seen["hindered"], seen["file"]["begins"]) == (["file"], begins)


def test_a_runfile_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A missing file is a finding, and no traceback."""
    world, runfile = World(tmp_path), make_runfile(tmp_path)

    seen = world.run(runfile, file=str(tmp_path / "gone.run")).seen

    assert (seen["hindered"], seen["file"]["size"]) == (["file"], -1)


def test_a_damaged_runfile_says_so_itself(tmp_path: Path) -> None:
    """Its own check sum does not hold: it unpacks nothing."""
    runfile = make_runfile(tmp_path)
    content = bytearray(runfile.read_bytes())
    content[-100] ^= 1
    runfile.write_bytes(content)

    seen = World(tmp_path).run(runfile).seen

    assert (seen["exit_code"], seen["installed"]) == (2, False)
    assert "Error in" in "\n".join(seen["output"])


def test_an_installer_that_hangs_is_ended(tmp_path: Path) -> None:
    """When its time is up the installer and all that it started are ended, and nothing of it stays."""
    world = World(tmp_path)

    seen = world.run(make_runfile(tmp_path, "hang"), timeout_s=2).seen

    assert (seen["timed_out"], seen["installed"], world.prefix.exists()) == (True, False, False)


def test_what_it_leaves_running_is_ended(tmp_path: Path) -> None:
    """A program that the installer left behind does not live on in the builder."""
    mark = tmp_path / "mark"
    mark.touch()
    mark.chmod(0o666)

    World(tmp_path).run(make_runfile(tmp_path, "survivor", mark=mark))

    process = Path("/proc", mark.read_text().strip(), "stat")
    assert not process.exists() or process.read_text().rpartition(")")[2].split()[0] == "Z"


def test_hostile_output_is_bounded(tmp_path: Path) -> None:
    """Megabytes of bytes without a meaning, and letters that steer a terminal, make a short and harmless report."""
    seen = World(tmp_path).run(make_runfile(tmp_path, "noise")).seen

    assert seen["installed"] is True
    assert len(seen["output"]) <= 60
    assert all(len(line) <= 1000 and line.isprintable() for line in seen["output"])


@pytest.mark.parametrize(
    ("name", "plant", "said"),
    [
        ("bin/ptxas", lambda path: path.unlink(), "No such file or directory"),
        ("bin/nvlink", lambda path: path.write_bytes(b""), "empty"),
        ("bin/nvcc", lambda path: path.chmod(0o644), "not executable"),
        ("nvvm/bin/cicc", lambda path: (path.unlink(), path.mkdir()), "not a file"),
    ],
)
def test_each_program_is_looked_at(tmp_path: Path, name: str, plant: Any, said: str) -> None:
    """Missing, empty, without the right to run, or a folder: each is told as such, and the toolkit is not whole."""
    from torchbuild.shim import install_runfile

    for program in PROGRAMS:
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    plant(tmp_path / name)

    assert {item: install_runfile._program(str(tmp_path / item)) for item in PROGRAMS} == {
        item: said if item == name else "there" for item in PROGRAMS
    }


def test_both_headers_of_the_stand_in_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests mean the same where makeself is not installed."""
    monkeypatch.setattr(stand_in_runfile, "makeself_header", lambda: "")

    assert World(tmp_path).run(make_runfile(tmp_path)).seen["installed"] is True


def test_an_error_far_up_in_the_log_is_told(tmp_path: Path) -> None:
    """The cause often stands hundreds of lines before the end."""
    (log,) = World(tmp_path).run(make_runfile(tmp_path, "warned", "chatter")).seen["logs"]

    assert log["errors"] == ["[ERROR]: a thing of no weight"]
    assert len(log["tail"]) == 60


def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    """Another user's remains at the prefix hinder the installation, and are not installed over."""
    world = World(tmp_path, uid=NOBODY)
    (world.prefix / "bin").mkdir(parents=True)
    (world.prefix / "bin" / "nvcc").write_text("of root")

    seen = world.run(make_runfile(tmp_path)).seen

    assert (seen["hindered"], seen["left"], seen["installed"]) == (["left"], ["bin"], False)
    assert (world.prefix / "bin" / "nvcc").read_text() == "of root"


def test_a_kernel_that_refuses_is_told(tmp_path: Path) -> None:
    """Where nobody gets mounts of their own, the toolkit is installed all the same, and the report says why."""
    world = World(tmp_path)
    world.refuses = True

    seen = world.run(make_runfile(tmp_path)).seen

    assert (seen["isolated"], seen["installed"]) == (False, True)
    assert "unshare: " in seen["isolation_why"]
    assert [path.name for path in world.prefix.parent.iterdir()] == ["cuda"]
    assert (world.log / "cuda-installer.log").exists()
