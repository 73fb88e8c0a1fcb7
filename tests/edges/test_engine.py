"""Which container engine is used, and why none is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchbuild.edges.engine import can_limit, find_engine, is_rootless
from torchbuild.errors import HostError


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of its own, without any engine yet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(folder: Path, name: str, script: str = "exit 0") -> None:
    """Put a program there that answers as an engine does."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_podman_is_preferred(engines: Path) -> None:
    """Where both answer, podman is used."""
    install(engines, "podman")
    install(engines, "docker")
    assert find_engine("auto") == "podman"


def test_engine_that_does_not_answer_is_passed_over(engines: Path) -> None:
    """An engine that is installed and does not work is not used."""
    install(engines, "podman", "exit 125")
    install(engines, "docker")
    assert find_engine("auto") == "docker"


def test_named_engine_is_used(engines: Path) -> None:
    """An engine that is asked for by name is used although another would be preferred."""
    install(engines, "podman")
    install(engines, "docker")
    assert find_engine("docker") == "docker"


def test_named_engine_is_not_replaced(engines: Path) -> None:
    """An engine that is asked for and does not answer is an error, not another engine."""
    install(engines, "podman")
    with pytest.raises(HostError) as caught:
        find_engine("docker")
    assert caught.value.reference == "no-container-engine"


def test_each_refusal_is_told(engines: Path) -> None:
    """Where none answers, the error says what each one said and how to install one."""
    install(engines, "docker", "echo the daemon is not running >&2; exit 1")
    with pytest.raises(HostError) as caught:
        find_engine("auto")
    podman, docker, _ = caught.value.why
    assert (
        "program-missing" in podman,
        "the daemon is not running" in docker,
        "install" in caught.value.fix,
    ) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param("[name=seccomp,profile=builtin name=rootless]", True, id="a user's own daemon"),
        pytest.param("[name=seccomp,profile=builtin]", False, id="a daemon that is root"),
    ],
)
def test_rootless_docker_is_known(answer: str, expected: bool, engines: Path) -> None:
    """Whether docker's root is an ordinary user is read from its own answer."""
    install(engines, "docker", f"echo '{answer}'")
    assert is_rootless("docker") is expected


def podman_info(controllers: list[str] | None, manager: str, *, rootless: bool) -> str:
    """What podman tells of itself, of which this much counts."""
    told = {"cgroupControllers": controllers, "cgroupManager": manager, "security": {"rootless": rootless}}
    return json.dumps({"host": told})


BOTH = ["cpuset", "cpu", "memory"]


@pytest.mark.parametrize(
    ("engine", "answer", "expected"),
    [
        pytest.param("podman", podman_info(BOTH, "cgroupfs", rootless=False), {"cpu", "memory"}, id="root"),
        pytest.param("podman", podman_info(["memory"], "systemd", rootless=True), {"memory"}, id="a user"),
        pytest.param("podman", podman_info([], "cgroupfs", rootless=True), set(), id="a user on cgroup v1"),
        pytest.param("podman", podman_info(None, "systemd", rootless=True), set(), id="nothing delegated"),
        pytest.param(
            "podman", podman_info(BOTH, "cgroupfs", rootless=True), set(), id="a user without session"
        ),
        pytest.param(
            "docker", podman_info(BOTH, "systemd", rootless=False), {"cpu", "memory"}, id="podman-docker"
        ),
        pytest.param("docker", '{"MemoryLimit": true, "CPUCfsQuota": true}', {"cpu", "memory"}, id="docker"),
        pytest.param(
            "docker", '{"MemoryLimit": false, "CPUCfsQuota": true}', {"cpu"}, id="docker, no memory"
        ),
        pytest.param("docker", "{}", set(), id="docker that does not say"),
    ],
)
def test_what_an_engine_cannot_limit_is_known(
    engine: str, answer: str, expected: set[str], engines: Path
) -> None:
    """It would take the option and run without the limit."""
    install(engines, engine, f"echo '{answer}'")
    assert can_limit(engine) == expected


@pytest.mark.parametrize("answer", ["", "[]", "7", '{"host": {}}', '{"host": 1}'])
def test_an_answer_that_is_none_is_an_error(answer: str, engines: Path) -> None:
    """What nobody understands is not taken for a limit that holds."""
    install(engines, "podman", f"echo '{answer}'")
    with pytest.raises(HostError) as caught:
        can_limit("podman")
    assert caught.value.reference == "engine-answer-unreadable"
