"""Container engines, by what they say of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.host_engines import (
    apptainer_told,
    docker_told,
    engine_blank,
    has_device_specs,
    look_at_engine,
    look_at_namespaces,
    podman_told,
)
from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_programs import Answer, Found, Programs

PODMAN = 'test "$2" = ps || echo podman version 4.9.3'
RUNTIME = "nvidia-container-runtime"


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


def podman(**host: Any) -> Answer:
    """What podman's ``info`` prints."""
    whole = {"security": {"rootless": False}, **host}
    return Answer(json.dumps({"host": whole, "version": {"Version": "4.9.3"}}), "")


def docker(**told: Any) -> Answer:
    """What docker's ``info`` prints."""
    whole = {"ServerVersion": "27.3.1", "Runtimes": {"runc": {}}, "SecurityOptions": ["name=seccomp"]}
    return Answer(json.dumps({**whole, **told}), "")


@pytest.mark.parametrize(
    ("name", "text", "runtime"),
    [
        ("etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n", "cdi"),
        ("usr/share/containers/oci/hooks.d/oci-nvidia-hook.json", "{}", RUNTIME),
        ("etc/containers/containers.conf", f'[engine]\nruntime = "{RUNTIME}"\n', RUNTIME),
        ("etc/containers/containers.conf", '[engine]\n# runtime = "nvidia"\nruntime = "crun"\n', ""),
        ("etc/other", "", ""),
    ],
    ids=["cdi", "hook", "setting", "another setting", "none"],
)
def test_podman_tells_what_hands_gpus_on(
    name: str, text: str, runtime: str, tmp_path: Path, glances: Glances
) -> None:
    """Device descriptions, an older hook, or a runtime that is set."""
    place = tmp_path / name
    place.parent.mkdir(parents=True)
    place.write_text(text)
    programs = engine(tmp_path / "podman", PODMAN)
    seen = look_at_engine("podman", programs, HostFiles(tmp_path), {"PATH": "/bin"}, glances)

    assert (seen.version, seen.works, seen.why, seen.gpu_runtime) == ("4.9.3", True, "", runtime)


@pytest.mark.parametrize(
    ("answer", "specs", "told"),
    [
        (docker(), False, ("27.3.1", "", False)),
        (docker(), True, ("27.3.1", "", False)),
        (docker(CDISpecDirs=["/etc/cdi", "/var/run/cdi"]), True, ("27.3.1", "cdi", False)),
        (docker(Runtimes={"runc": {}, "nvidia": {"path": RUNTIME}}), True, ("27.3.1", RUNTIME, False)),
        (docker(SecurityOptions=["name=rootless"]), False, ("27.3.1", "", True)),
        (docker(SecurityOptions=None, Runtimes=None), False, ("27.3.1", "", False)),
    ],
    ids=["plain", "descriptions that it does not read", "cdi", "runtime", "rootless", "odd"],
)
def test_docker_tells_what_hands_gpus_on(answer: Answer, specs: bool, told: tuple[str, str, bool]) -> None:
    """Descriptions count where the daemon reads them."""
    seen = docker_told(answer, has_specs=specs)

    assert (seen.version, seen.gpu_runtime, seen.is_rootless) == told
    assert seen.works


def test_podman_behind_dockers_name_is_asked_as_podman() -> None:
    """A distribution's package makes one a name of the other."""
    seen = docker_told(podman(security={"rootless": True}), has_specs=True)

    assert (seen.name, seen.version, seen.gpu_runtime) == ("docker", "4.9.3", "cdi")
    assert (seen.works, seen.is_rootless) == (True, True)
    assert not docker_told(podman(security=None), has_specs=False).is_rootless


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer("", "Cannot connect to the Docker daemon"), "Cannot connect to the Docker daemon"),
        (docker(ServerErrors=["permission denied while trying to connect"]), "permission denied while"),
        (Answer('{"ServerVersion": ""}', ""), "its daemon tells no version"),
        (Answer("not json", ""), "its daemon tells no version"),
    ],
    ids=["silent", "errors", "no version", "odd"],
)
def test_a_docker_whose_daemon_does_not_answer_does_not_work(answer: Answer, why: str) -> None:
    """It is installed, and that is all."""
    seen = docker_told(answer, has_specs=True)

    assert (seen.works, seen.why.startswith(why)) == (False, True)


def test_a_podman_that_cannot_list_containers_does_not_work() -> None:
    """Its version alone says nothing of its storage."""
    seen = podman_told(
        Answer("", "database is locked"), Answer("podman version 4.9.3\n", ""), gpu_runtime="cdi"
    )

    assert (seen.works, seen.why, seen.gpu_runtime) == (False, "database is locked", "")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer("apptainer version 1.3.4\n", ""), ("1.3.4", True, "")),
        (Answer("singularity-ce version 4.1.2-jammy\n", ""), ("4.1.2-jammy", True, "")),
        (Answer("", "exit code 1"), ("", False, "exit code 1")),
        (Answer("hello\n", ""), ("", False, "no version in 'hello'")),
    ],
    ids=["apptainer", "singularity", "fails", "another"],
)
def test_apptainer_tells_its_version(answer: Answer, told: tuple[str, bool, str]) -> None:
    """Under its old name too."""
    seen = apptainer_told(answer)

    assert (seen.version, seen.works, seen.why) == told


def test_device_descriptions_are_nvidias_only(tmp_path: Path) -> None:
    """Others describe theirs in the same folder."""
    folder = tmp_path / "etc/cdi"
    folder.mkdir(parents=True)
    (folder / "intel.yaml").write_text("kind: intel.com/gpu\n")
    (folder / "nvidia.bak").write_text("kind: nvidia.com/gpu\n")
    assert not has_device_specs(HostFiles(tmp_path))

    (folder / "nvidia.yaml").write_text('cdiVersion: "0.5.0"\nkind: nvidia.com/gpu\n')
    assert has_device_specs(HostFiles(tmp_path))


def engine(path: Path, text: str) -> Programs:
    """A program of that name in PATH."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Programs([Found(path.name, str(path), str(path))])


def test_an_engine_that_is_not_in_path_does_not_work(tmp_path: Path, glances: Glances) -> None:
    """And no other is asked in its place."""
    programs = engine(tmp_path / "podman", PODMAN)
    seen = look_at_engine("docker", programs, HostFiles(tmp_path), {}, glances)

    assert (seen.works, seen.why) == (False, "no such program in PATH")


def test_an_engine_that_says_no_is_told_in_its_words(tmp_path: Path, glances: Glances) -> None:
    """The last thing that it said."""
    programs = engine(tmp_path / "docker", "echo 'Cannot connect to the Docker daemon.' >&2; exit 1")
    seen = look_at_engine("docker", programs, HostFiles(tmp_path), {}, glances)

    assert (seen.works, seen.why) == (False, "Cannot connect to the Docker daemon.")


def test_apptainers_own_variables_do_not_reach_it(tmp_path: Path, glances: Glances) -> None:
    """Neither do they in a build."""
    programs = engine(tmp_path / "singularity", 'echo "apptainer version 1.3.4${SINGULARITY_BIND}"')
    seen = look_at_engine("apptainer", programs, HostFiles(tmp_path), {"SINGULARITY_BIND": "x"}, glances)

    assert seen.version == "1.3.4"


def test_namespaces_are_tried(glances: Glances) -> None:
    """What a build without an engine needs either works here or has a reason."""
    seen = look_at_namespaces({}, glances)

    assert seen.works == (not seen.why)
    assert seen.name == "rootfs"


def test_one_that_was_not_heard_of_does_not_work() -> None:
    """With its name."""
    assert (engine_blank("docker").works, engine_blank("docker").why) == (False, "no answer")
