"""What Apptainer is asked for, written down by a program that takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.apptainer import ApptainerExecutor, find_apptainer
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.command import Command

IMAGE = ImageRef(name="localhost/some/image", id="ab" * 32)
TAKE = 'for w in "$@"; do case $w in /torchbuild/.torchbuild-tmp-*) read -r _ <"$ROOT/${w##*/}" ;; esac; done'


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Where a program lies that keeps its arguments and shows only a loopback device."""
    install(tmp_path, f"{TAKE}; printf '    lo: 0\\n'; env >{tmp_path}/environ")
    return tmp_path


def install(top: Path, script: str) -> None:
    """Make the program do so."""
    lines = ["#!/bin/sh", f"ROOT={top}/root", f"printf '%s\\n' \"$@\" >{top}/asked", script]
    (top / "apptainer").write_text("\n".join(lines) + "\n")
    (top / "apptainer").chmod(0o755)


def executor_in(top: Path, **options: object) -> ApptainerExecutor:
    """A fresh one."""
    places = {name: top / name for name in ("root", "store", "cache")}
    program = str(top / "apptainer")
    return ApptainerExecutor(program=program, image=IMAGE, directory=top / "image", **places | options)  # type: ignore[arg-type]


def asked(top: Path, network: str = "none", **options: object) -> list[str]:
    """The last call's words up to the shell."""
    command = Command.model_validate({"argv": ("/bin/true",), "network": network})
    executor_in(top, **options).run(command, log=top / "log")
    words = (top / "asked").read_text().splitlines()
    return words[: words.index("/bin/sh")]


def test_nothing_of_the_machine_gets_in(top: Path) -> None:
    """No home, no variables, no directories but the three, no network, in the unpacked image."""
    words = asked(top)
    assert words[:6] == ["--silent", "exec", "--containall", "--cleanenv", "--no-home", "--fakeroot"]
    assert [word for word in words if word.startswith("--bind")] == [
        f"--bind={top}/root:/torchbuild:rw",
        f"--bind={top}/store:/torchbuild/store:ro",
        f"--bind={top}/cache:/torchbuild/cache:rw",
    ]
    assert {"--net", "--network=none", "--hostname=localhost", "--pwd=/"} <= set(words)
    assert words[-1] == str(top / "image")


def test_network_is_the_machines_where_it_is_asked_for(top: Path) -> None:
    """A command that may use the network gets no namespace for it."""
    assert [word for word in asked(top, "host") if word.startswith(("--net", "--hostname"))] == []


def test_limits_are_asked_for(top: Path) -> None:
    """Memory is limited with its swap, in bytes; what needs no control group is asked of the kernel."""
    words = asked(top, memory_gib=1.5, jobs=1)
    assert [word for word in words if word.startswith("--cpus")] == []
    assert {"--memory=1610612736", "--memory-swap=1610612736"} <= set(words)


def test_users_own_options_do_not_count(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that would add a directory to every container adds none to a build."""
    monkeypatch.setenv("APPTAINER_BIND", "/etc")
    monkeypatch.setenv("SINGULARITY_BINDPATH", "/etc")
    asked(top)
    assert "BIND" not in (top / "environ").read_text()


def test_temporary_files_go_with_the_command(top: Path) -> None:
    """Each command has a directory for them beside the workspace's root, and none is left."""
    (word,) = [word for word in asked(top) if word.startswith("--workdir=")]
    place = Path(word.removeprefix("--workdir="))
    assert (place.parent, place.exists()) == (top, False)


def test_failure_of_the_program_is_the_machines_error(top: Path) -> None:
    """What Apptainer refuses is told with its own words, and with what to try by hand."""
    install(top, "echo no user namespace >&2; exit 255")
    with pytest.raises(HostError) as caught:
        asked(top)
    assert (caught.value.reference, caught.value.evidence) == ("engine-failed", ("no user namespace",))
    assert f"exec --fakeroot {top}/image true" in caught.value.fix


def test_without_the_program_that_is_said(top: Path) -> None:
    """Only where the program is present is it used."""
    assert find_apptainer(str(top / "apptainer")) == str(top / "apptainer")
    with pytest.raises(HostError) as caught:
        find_apptainer(str(top / "nothing"))
    assert (caught.value.reference, "rootfs" in caught.value.fix) == ("no-container-engine", True)


def test_nothing_is_kept(top: Path) -> None:
    """There is nothing stale to remove."""
    assert executor_in(top).remove_stale() == ()
