"""What is special about building with the machine's own tools; the rest is in tests/contract."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import torchbuild
from torchbuild.edges.local import LocalExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command

PACKAGE_ROOT = Path(torchbuild.__file__).parent.parent
REFUSING = ("/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-ec")
REFUSE = 'echo 0 >/proc/sys/user/max_mnt_namespaces; exec "$@"'
DRIVER = """
import sys
from pathlib import Path
from torchbuild.edges.local import LocalExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command
top = Path(sys.argv[1])
executor = LocalExecutor(root=top / "root", store=top / "store", cache=top / "cache")
try:
    executor.run(Command(argv=("/bin/true",), network=sys.argv[2]), log=top / "log")
except HostError as error:
    print(error.reference)
    print(error.fix)
"""


def executor_in(top: Path, jobs: int | None = None) -> LocalExecutor:
    """A fresh one."""
    return LocalExecutor(root=top / "root", store=top / "store", cache=top / "cache", jobs=jobs)


def refuses_nothing() -> str:
    """Why this machine cannot play one that refuses namespaces, or nothing."""
    tried = subprocess.run(
        [*REFUSING, REFUSE, "sh", "/bin/true"], capture_output=True, text=True, check=False
    )
    return (
        "" if tried.returncode == 0 else f"no user namespace to take rights away in: {tried.stderr.strip()}"
    )


@pytest.mark.parametrize("network", ["none", "host"])
def test_refused_namespaces_lead_to_a_container(network: str, tmp_path: Path) -> None:
    """On a machine that refuses namespaces the error says so, and names the container engine."""
    reason = refuses_nothing()
    if reason:
        pytest.skip(reason)
    done = subprocess.run(
        [*REFUSING, REFUSE, "sh", sys.executable, "-c", DRIVER, str(tmp_path), network],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(PACKAGE_ROOT)},
    )
    reference, fix = done.stdout.splitlines()
    assert (reference, "podman" in fix) == ("namespaces-refused", True)


@pytest.mark.parametrize(("jobs", "expected"), [(None, {}), (3, {"MAX_JOBS": "3"})])
def test_jobs_are_told_to_the_build(jobs: int | None, expected: dict[str, str], tmp_path: Path) -> None:
    """The number of jobs reaches the build where one was given, and else is left to it."""
    assert executor_in(tmp_path, jobs).environment() == expected


def test_directories_are_made(tmp_path: Path) -> None:
    """A first build on a machine needs no directory made by hand."""
    executor_in(tmp_path / "deep")
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["cache", "root", "store"]


def test_two_commands_at_a_time(tmp_path: Path) -> None:
    """Two commands may run at the same time, from threads."""
    executor = executor_in(tmp_path)

    def run(number: int) -> tuple[str, ...]:
        command = Command(argv=("/bin/echo", str(number)))
        return executor.run(command, log=tmp_path / f"{number}.log").tail

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(8))) == [(str(number),) for number in range(8)]


def test_callers_secrets_are_not_in_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process that a build can see carries a variable of the caller's."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    command = Command(
        argv=("/bin/sh", "-c", "cat /proc/[0-9]*/environ | tr '\\0' '\\n'"),
        environ=(("PATH", "/usr/bin:/bin"),),
    )
    done = executor_in(tmp_path).run(command, log=tmp_path / "log")
    assert ("hunter2" in "".join(done.tail), done.exit_code) == (False, 0)


def test_no_descriptor_leaks_into_the_build(tmp_path: Path) -> None:
    """A build inherits its three standard descriptors and nothing else."""
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        command = Command(argv=("/bin/ls", "/proc/self/fd"))
        done = executor_in(tmp_path).run(command, log=tmp_path / "log")
    assert done.tail == ("0", "1", "2", "3")  # 3 is the directory that ls reads


def test_path_that_is_a_file_is_named(tmp_path: Path) -> None:
    """A workspace that cannot be made is the machine's error."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(HostError) as caught:
        executor_in(tmp_path / "file")
    assert caught.value.reference in {"file-missing", "file-operation-failed"}
