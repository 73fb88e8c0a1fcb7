"""The launcher by itself, as any program may use it: as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

import torchbuild.edges
from torchbuild.edges import sandbox, sandbox_limits, sandbox_root

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534
AS_NOBODY = ("/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
TRY_AS_NOBODY = (*AS_NOBODY, "/usr/bin/unshare", "--user", "--mount", "--pid", "--fork", "/bin/true")

PACKAGE = Path(sandbox.__file__).parents[1]


def why_not_as_a_user() -> str:
    """Why an ordinary user cannot be tried here, or nothing."""
    if os.geteuid() != 0:
        return "only root can become another user for a moment"
    tried = subprocess.run(TRY_AS_NOBODY, capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"this kernel gives users no namespaces: {tried.stderr.strip()}"


@dataclass(frozen=True)
class Place:
    """Directories to bind, and who binds them."""

    top: Path
    prefix: tuple[str, ...]
    python: str
    uid: int

    def launch(self, *argv: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Start the launcher as its own program, from a copy that the user may read."""
        return subprocess.run(
            [
                *(*self.prefix, *sandbox.launcher(self.python, str(self.top))),
                f"--bind={self.top}/root=/torchbuild",
                f"--ro-bind={self.top}/store=/torchbuild/store",
                *(*options, "--", *argv),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={},
            umask=0o077,
        )

    def shell(self, script: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a constant script inside."""
        return self.launch("/bin/sh", "-c", script, options=("--env=PATH=/usr/bin:/bin", *options))


@pytest.fixture(params=["caller", "user"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Directories that belong to the caller, and to an ordinary user."""
    as_user = request.param == "user"
    reason = why_not_as_a_user() if as_user else ""
    if reason:
        pytest.skip(reason)
    # pytest's own directories are closed to other users.
    top = Path(mkdtemp(prefix="torchbuild-sandbox-", dir="/tmp"))
    for name in ("root", "store"):
        (top / name).mkdir()
    (top / "store" / "input").write_text("locked")
    for module in (torchbuild, torchbuild.edges, sandbox, sandbox_limits, sandbox_root):
        place = top / Path(module.__file__ or "").relative_to(Path(torchbuild.__file__).parents[1])
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module.__file__ or "", place)
    uid = NOBODY if as_user else os.geteuid()
    for path in (top, *top.rglob("*")):
        os.chown(path, uid, -1)
    python = "/usr/bin/python3" if as_user else str(Path(sys.executable).resolve())
    yield Place(top=top, prefix=AS_NOBODY if as_user else (), python=python, uid=uid)
    shutil.rmtree(top)


def test_fixed_path_is_there_and_nowhere_else(place: Place) -> None:
    """Inside there is the fixed path; the machine never gets a directory of that name."""
    before = Path("/torchbuild").exists()
    done = place.shell("cd /torchbuild && pwd -P && echo made >file")
    assert (done.stdout, (place.top / "root" / "file").read_text(), Path("/torchbuild").exists()) == (
        "/torchbuild\n",
        "made\n",
        before,
    )


def test_files_belong_to_the_caller(place: Place) -> None:
    """What a build makes belongs to whoever started it, and the build sees that user's number."""
    done = place.shell("id -u; touch /torchbuild/file")
    assert (done.stdout, (place.top / "root" / "file").stat().st_uid) == (f"{place.uid}\n", place.uid)


def test_store_is_really_read_only(place: Place) -> None:
    """The store can be read and not written, and cannot be made writable again."""
    script = (
        "cat store/input; echo x >store/input; mount -o remount,rw,bind /torchbuild/store; echo x >store/new"
    )
    done = place.shell(script, options=("--chdir=/torchbuild",))
    left = {path.name: path.read_text() for path in (place.top / "store").iterdir()}
    assert (done.stdout, left) == ("locked", {"input": "locked"})


def test_mount_below_the_store_is_read_only_too(place: Place) -> None:
    """A directory that is mounted below a read-only one is read-only as well."""
    (place.top / "root" / "sub").mkdir()
    os.chown(place.top / "root" / "sub", place.uid, -1)
    options = (
        f"--bind={place.top}/root=/elsewhere",
        f"--bind={place.top}/root/sub=/elsewhere/sub",
        f"--ro-bind={place.top}={place.top}",
        f"--ro-bind={PACKAGE}={PACKAGE}",  # the clone may be in a temporary directory, which is not shown
    )
    nested = f"""
        /usr/bin/env -i {shlex.join(sandbox.launcher(place.python, str(place.top)))} --bind=/elsewhere=/here \\
            --ro-bind=/elsewhere=/again -- /bin/sh -c 'echo x >/again/sub/file; echo y >/here/sub/other'
    """
    done = place.launch("/bin/sh", "-c", nested, options=options)
    left = [path.name for path in (place.top / "root" / "sub").iterdir()]
    assert (left, "Read-only file system" in done.stderr) == (["other"], True)


def test_a_single_file_can_be_shown_anywhere(place: Place) -> None:
    """Also where nothing else is shown in its directory."""
    done = place.shell("cat /new/place/file", options=(f"--ro-bind={place.top}/store/input=/new/place/file",))
    assert (done.stdout, done.stderr) == ("locked", "")


def test_network_is_loopback_only(place: Place) -> None:
    """Without a network there is a loopback device, up, and no other."""
    done = place.shell(
        "tail -n +3 /proc/net/dev | cut -d: -f1; cat /proc/net/if_inet6", options=("--no-network",)
    )
    devices = {line.strip() for line in done.stdout.splitlines() if ":" not in line and len(line) < 20}
    assert (devices, "00000000000000000000000000000001" in done.stdout) == ({"lo"}, True)


def test_processes_of_the_machine_are_not_seen(place: Place) -> None:
    """A build sees its own processes only, numbered from one."""
    done = place.shell("for p in /proc/[0-9]*; do echo ${p#/proc/}; done")
    assert max(int(line) for line in done.stdout.split()) < 10


def test_machines_tools_are_there(place: Place) -> None:
    """Everything else of the machine is where it was."""
    done = place.launch("/bin/ls", "-A", "/")
    assert set(done.stdout.split()) == {path.name for path in Path("/").iterdir()} | {"torchbuild"}


def _lasting(place: Place) -> str:
    """A directory of the machine that a command sees: a home may be a temporary one, as in a test of CI."""
    home = str(Path.home())
    is_hidden = home.startswith(("/tmp/", "/var/tmp/"))
    return home if place.uid == 0 and not is_hidden else "/opt"


def test_machine_is_read_only(place: Place) -> None:
    """Nothing of the machine can be changed, neither by root nor by the owner of a file."""
    with tempfile.TemporaryDirectory(dir=_lasting(place)) as kept:
        os.chown(kept, place.uid, -1)
        Path(kept).chmod(0o755)
        done = place.shell(f"echo x >{kept}/file; mount -o remount,rw,bind / {kept}; echo x >{kept}/other")
        left = list(Path(kept).iterdir())
    assert (left, "Read-only file system" in done.stderr) == ([], True)


def test_mounts_of_the_machine_are_read_only_too(place: Place) -> None:
    """What is mounted on a directory of the machine is frozen with it, also where one mount covers another."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount something for a moment")
    with tempfile.TemporaryDirectory(dir="/opt") as kept:
        Path(kept).chmod(0o755)
        covered = f"{kept}/a/b"
        script = (
            f"mount -t tmpfs -o mode=0777 tmpfs {kept}; mkdir -p {covered}; mount -t tmpfs t {covered};"
            f"mount -t tmpfs -o mode=0777 t {kept}/a; mkdir -m 0700 {kept}/closed {kept}/closed/c;"
            f'mount -t tmpfs -o mode=0777 t {kept}/closed/c; exec "$@"'
        )
        inside = f"touch {kept}/file {kept}/a/file {kept}/closed/c/file; ls -A {kept} {kept}/a"
        options = ("--env=PATH=/usr/bin:/bin",)
        mounting = replace(place, prefix=("unshare", "-m", "sh", "-ec", script, "sh", *place.prefix))
        done = mounting.launch("/bin/sh", "-c", inside, options=options)
    assert done.stdout.split("\n") == [f"{kept}:", "a", "closed", "", f"{kept}/a:", ""]


def test_mounts_that_go_meanwhile_are_no_hindrance(place: Place) -> None:
    """A build starts although other mounts of the machine come and go: containers of an engine do all the time."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount something for a moment")
    with tempfile.TemporaryDirectory(dir="/opt") as kept:
        Path(kept).chmod(0o755)
        places = " ".join(f"{kept}/{number}" for number in range(20))
        script = (
            f"while :; do for p in {places}; do mkdir $p; mount -t tmpfs t $p; done;"
            f' for p in {places}; do umount $p; rmdir $p; done; done & trap "kill $!" EXIT;'
            ' for n in 1 2 3 4 5 6 7 8; do "$@" || exit; done'
        )
        mounting = replace(place, prefix=("unshare", "-m", "sh", "-c", script, "sh", *place.prefix))
        done = mounting.launch("/bin/true")
    assert (done.returncode, done.stderr) == (0, "")


def test_writing_beside_the_binds_is_refused(place: Place) -> None:
    """A file made at the top of the root would be lost: it cannot be made."""
    assert place.shell("echo x >/lost").returncode != 0


def test_environment_is_only_what_is_given(place: Place) -> None:
    """The process sees the variables on the command line, in any characters, and no other."""
    done = place.launch("/usr/bin/env", "-0", options=("--env=A=b=c\nd", "--env=É=☃"))
    assert done.stdout == "A=b=c\nd\0É=☃\0"


def test_arguments_arrive_unchanged(place: Place) -> None:
    """Arguments that look like the launcher's own are the process's."""
    done = place.launch("/usr/bin/printf", "[%s]", "--", "--bind", "a b", "", "$HOME")
    assert done.stdout == "[--][--bind][a b][][$HOME]"


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_exit_code_is_the_process_own(script: str, code: int, place: Place) -> None:
    """How the process ended is how the launcher ends."""
    assert place.shell(script).returncode == code


def test_signals_have_their_usual_meaning(place: Place) -> None:
    """A pipe whose reader is gone ends the writer quietly, as everywhere."""
    assert place.shell("yes | head -n 1; echo $?").stdout == "y\n0\n"


def test_files_are_readable_whatever_the_callers_mask(place: Place) -> None:
    """Permissions of what a build makes do not depend on who builds."""
    place.shell("touch /torchbuild/file; mkdir /torchbuild/directory")
    modes = [oct((place.top / "root" / name).stat().st_mode & 0o777) for name in ("file", "directory")]
    assert modes == ["0o644", "0o755"]


@pytest.mark.parametrize(
    ("argv", "options", "kind"),
    [
        pytest.param(("/no/such",), (), "program", id="no program"),
        pytest.param(("/etc/passwd",), (), "program", id="no executable"),
        pytest.param(("/bin/true",), ("--chdir=/no/such",), "directory", id="no directory"),
        pytest.param(("/bin/true",), ("--bind=/no/such=/torchbuild/x",), "refused", id="nothing to bind"),
    ],
)
def test_what_prevents_a_start_is_told(
    argv: tuple[str, ...], options: tuple[str, ...], kind: str, place: Place
) -> None:
    """Where the process cannot start, the launcher says which thing is missing, on its own channel."""
    done = place.launch(*argv, options=options)
    assert (done.returncode, json.loads(done.stderr)["kind"]) == (sandbox.NOT_STARTED, kind)


def test_program_is_required() -> None:
    """Without a program the launcher explains itself."""
    done = subprocess.run(sandbox.launcher(), capture_output=True, text=True, check=False)
    assert (done.returncode, "no program" in done.stderr) == (2, True)
