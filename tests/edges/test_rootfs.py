"""Building in an unpacked image; what every executor promises is in tests/contract."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

import torchbuild
from torchbuild.edges import sandbox
from torchbuild.edges.rootfs import RootfsExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.context import Completed

NOBODY = 65534
AS_NOBODY = ("/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
PROGRAMS = ("sh", "cat", "id", "ls", "test", "touch")


def libraries_of(program: str) -> list[Path]:
    """What the loader opens for it, the loader included."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(word) for line in told.splitlines() for word in line.split() if word.startswith("/")]


@pytest.fixture(scope="module")
def image() -> Iterator[Path]:
    """A root of a few programs of this machine, readable for everybody."""
    top = Path(mkdtemp(prefix="torchbuild-root-", dir="/tmp"))
    root = top / "image"
    for folder in ("usr/bin", "usr/lib", "usr/lib64", "etc", "var/tmp", "home"):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc" / "hostname").write_text("of the image\n")
    (root / "etc" / "os-release").write_text("ID=small\n")
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/bin:/bin") or pytest.skip(f"this machine has no {program}")
        shutil.copy(found, root / "usr/bin" / program)
        for library in libraries_of(found):
            place = root / os.path.realpath(library.parent).lstrip("/") / library.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    top.chmod(0o755)
    yield root
    shutil.rmtree(top)


def shell(image: Path, top: Path, script: str, **fields: object) -> Completed:
    """Run a constant script inside."""
    executor = RootfsExecutor(image=image, root=top / "root", store=top / "store", cache=top / "cache")
    argv = ("/bin/sh", "-c", script)
    command = Command.model_validate({"argv": argv, "environ": (("PATH", "/usr/bin:/bin"),), **fields})
    return executor.run(command, log=top / "log")


def test_files_are_the_images(image: Path, tmp_path: Path) -> None:
    """A command sees the image's files and none of this machine's."""
    done = shell(image, tmp_path, "cat /etc/os-release; ls /; ls /home")
    assert done.tail == ("ID=small", *sorted(_top(image)))


def _top(image: Path) -> set[str]:
    ours = {"dev", "etc", "proc", "run", "sys", "tmp", "torchbuild"}
    return {path.name for path in image.iterdir()} | ours


@pytest.mark.parametrize("place", ["/usr/file", "/etc/file", "/file", "/home/file", "/bin/file"])
def test_image_cannot_be_changed(place: str, image: Path, tmp_path: Path) -> None:
    """An image is used by many builds: none can write into it."""
    done = shell(image, tmp_path, f"touch {place}")
    assert (done.exit_code, list(image.rglob("file"))) == (1, [])


@pytest.mark.parametrize("place", ["/tmp/file", "/var/tmp/file", "/run/file", "/dev/shm/file"])
def test_what_is_temporary_can_be_written(place: str, image: Path, tmp_path: Path) -> None:
    """Places for temporary files are there, empty for each command, and nothing of them reaches the image."""
    first, second = (shell(image, tmp_path, f"test ! -e {place} && touch {place}") for _ in range(2))
    assert (first.exit_code, second.exit_code, list(image.rglob("file"))) == (0, 0, [])


def test_devices_are_the_usual_ones(image: Path, tmp_path: Path) -> None:
    """Null, zero and random work; no disk of this machine is there."""
    script = "echo x >/dev/null && test -r /dev/urandom && test -c /dev/zero && test ! -e /dev/mem; ls /dev"
    done = shell(image, tmp_path, script)
    expected = [
        "fd",
        "full",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
        "stdout",
        "tty",
        "urandom",
        "zero",
    ]
    assert (done.exit_code, list(done.tail)) == (0, expected)


def test_loopback_has_its_name(image: Path, tmp_path: Path) -> None:
    """An image without a file of host names still knows localhost."""
    assert shell(image, tmp_path, "cat /etc/hosts").tail[0] == "127.0.0.1 localhost"


def test_missing_program_is_the_images(image: Path, tmp_path: Path) -> None:
    """A program that this machine has and the image has not is missing, and the image is to be mended."""
    executor = RootfsExecutor(
        image=image, root=tmp_path / "root", store=tmp_path / "store", cache=tmp_path / "cache"
    )
    with pytest.raises(HostError) as caught:
        executor.run(Command(argv=(sys.executable, "-V")), log=tmp_path / "log")
    assert (caught.value.reference, "image" in caught.value.fix) == ("program-missing", True)


def test_user_is_root_inside_and_owns_the_results(image: Path) -> None:
    """An ordinary user builds as in a rootless engine: root inside, and the results are the user's."""
    if (
        os.geteuid() != 0
        or subprocess.run([*AS_NOBODY, "/usr/bin/unshare", "-Um", "true"], check=False).returncode
    ):
        pytest.skip("no ordinary user with namespaces can be tried here")
    top = Path(mkdtemp(prefix="torchbuild-user-", dir="/tmp"))
    try:
        os.chown(top, NOBODY, NOBODY)
        source = Path(torchbuild.__file__).parent
        (top / "torchbuild" / "edges").mkdir(parents=True)
        modules = ["__init__.py", "edges/__init__.py"]
        modules += [f"edges/sandbox{rest}.py" for rest in ("", "_limits", "_root")]
        for name in modules:
            shutil.copy(source / name, top / "torchbuild" / name)
        options = [f"--image={image}", "--as-root", f"--bind={top}=/torchbuild", "--no-network"]
        argv = [
            *options,
            "--env=PATH=/usr/bin",
            "--",
            "/bin/sh",
            "-c",
            "id -u; touch /torchbuild/file; ls /sys",
        ]
        done = subprocess.run(
            [*AS_NOBODY, *sandbox.launcher("/usr/bin/python3", str(top)), *argv],
            capture_output=True,
            text=True,
            check=False,
        )
        made = (top / "file").stat().st_uid
    finally:
        shutil.rmtree(top)
    assert (done.stderr, done.stdout.splitlines()[0], "devices" in done.stdout, made) == (
        "",
        "0",
        True,
        NOBODY,
    )


def test_hostile_image_shows_nothing_of_the_machine(image: Path, tmp_path: Path) -> None:
    """An image whose links lead up, or that has our own names in it, is still all that a command sees."""
    hostile = tmp_path / "image"
    shutil.copytree(image, hostile, symlinks=True)
    (hostile / "up").symlink_to("../../../../etc/passwd")
    (hostile / ".old").mkdir()
    shutil.rmtree(hostile / "var")
    (hostile / "var").symlink_to("/torchbuild/..")
    (hostile / "tmp").symlink_to("/etc")
    done = shell(hostile, tmp_path, "test ! -e /up && test ! -e /.old && test -d /tmp && test ! -h /tmp")
    assert done.exit_code == 0
