"""The executor that a recipe and a machine ask for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.survey import (
    _answer,
    check_builder,
    executor_alone,
    executor_for,
    find_image,
    survey_builder,
)
from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_limits import cores_of
from torchbuild.errors import ConflictError, HostError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.recipe import Machine, Recipe

IMAGE = ImageRef(name="localhost/x", id="0a" * 32)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "image"), [("local", IMAGE), ("container", None)], ids=["local", "container"]
)
def test_a_machine_does_not_decide_what_the_recipe_does(
    machine: Path, wanted: str, image: ImageRef | None
) -> None:
    """Whether a build happens in an image decides the wheel; [machine] decides nothing of the wheel."""
    with pytest.raises(ConflictError) as caught:
        executor_for(Machine.model_validate({"executor": wanted}), image, places(), machine, "r-1")

    assert caught.value.reference == "executor-contradicts-image"


@pytest.mark.parametrize(
    ("jobs", "seen"), [(3, "3"), (None, str(cores_of(HostFiles())))], ids=["asked", "default"]
)
def test_jobs_are_those_of_the_machine(machine: Path, jobs: int | None, seen: str) -> None:
    """Without a number, as many compilers run as this process may use cores: a limit of a container counts."""
    executor = executor_for(Machine(jobs=jobs), None, places(), machine, "r-1")

    assert executor.name == "local"
    assert seen in executor.environment().values()


SEEN = {
    "executable": "/usr/bin/python3.13",
    "version": "3.13.5",
    "soabi": "cpython-313-x86_64-linux-gnu",
    "tag": "cp313",
    "glibc": "2.41",
    "machine": "x86_64",
    "cc": "/usr/bin/gcc",
    "cxx": "/usr/bin/g++",
    "compiler": "g++ 14",
    "launcher": "/usr/bin/ccache",
    "venv": "yes",
    "headers": "yes",
}


def wanting(recipe: Path, *overrides: str) -> Recipe:
    """The recipe, asking for more."""
    return read_recipe(recipe, overrides=("python.version='3.13'", *overrides))


def test_a_builder_that_has_everything_is_good(recipe: Path) -> None:
    """A prefix of the version is enough."""
    check_builder(wanting(recipe, "toolchain.compiler_cache='ccache'"), SEEN)


def test_a_version_is_meant_with_its_threading(recipe: Path) -> None:
    """python3.13t is another interpreter than python3.13, with another ABI."""
    free = SEEN | {"soabi": "cpython-313t-x86_64-linux-gnu"}

    check_builder(read_recipe(recipe, overrides=("python.version='3.13t'",)), free)
    for wanted, seen in (("3.13t", SEEN), ("3.13", free)):
        with pytest.raises(HostError) as caught:
            check_builder(read_recipe(recipe, overrides=(f"python.version='{wanted}'",)), seen)
        assert caught.value.reference == "interpreter-other-version"
        assert seen["soabi"] in caught.value.why[0]


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({"version": "3.12.1"}, "interpreter-other-version"),
        ({"version": "3.1.3"}, "interpreter-other-version"),
        ({"headers": ""}, "python-headers-missing"),
        ({"venv": ""}, "python-venv-missing"),
        ({"cc": ""}, "compiler-missing"),
        ({"cxx": ""}, "compiler-missing"),
        ({"glibc": ""}, "libc-unknown"),
        ({"launcher": ""}, "compiler-cache-missing"),
        ({"machine": "aarch64"}, "machine-other"),
    ],
    ids=str,
)
def test_what_a_build_needs_and_the_builder_lacks_is_said_before_it_is_locked(
    recipe: Path, changed: dict[str, str], reference: str
) -> None:
    """With what to install."""
    with pytest.raises(HostError) as caught:
        check_builder(wanting(recipe, "toolchain.compiler_cache='ccache'"), SEEN | changed)

    assert caught.value.reference == reference
    assert caught.value.fix


@pytest.mark.parametrize("key", ["cc", "cxx"])
def test_the_compiler_that_was_asked_for_is_the_one_to_install(recipe: Path, key: str) -> None:
    """Who asked for clang is not told to install gcc."""
    with pytest.raises(HostError) as caught:
        check_builder(wanting(recipe, f"toolchain.{key}=clang-99"), SEEN | {key: ""})

    assert "clang-99" in caught.value.what
    assert "clang-99" in caught.value.fix
    assert f"toolchain.{key}" in caught.value.fix
    assert "gcc" not in caught.value.fix


def test_this_machine_is_looked_at_from_inside_a_build(recipe: Path) -> None:
    """What is locked is what a build would find, not what the caller has on PATH."""
    found = survey_builder(read_recipe(recipe), None, places())

    assert found.python.version == ".".join(map(str, sys.version_info[:3]))
    assert found.cc == "/usr/bin/gcc"
    assert found.glibc
    assert found.launcher == ""


def test_a_version_managers_refusal_is_not_ours(
    recipe: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shim that knows the name and has no such version is one place that was looked at."""
    shim = machine / "bin" / "python3.99"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")

    with pytest.raises(HostError) as caught:
        survey_builder(read_recipe(recipe, overrides=("python.version='3.99'",)), None, places())

    assert caught.value.reference == "interpreter-missing"
    assert len(caught.value.why) == 2


def test_the_interpreter_behind_a_shim_is_locked(
    recipe: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version manager's shim needs the caller's environment, which no build has."""
    base = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    shim = machine / "shim" / "python3"
    shim.parent.mkdir()
    shim.write_text('#!/bin/sh\nexec "$VERSION_MANAGERS_CHOICE" "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("VERSION_MANAGERS_CHOICE", base)
    named = read_recipe(recipe, overrides=("python.from='path'", f"python.path='{shim}'"))

    assert survey_builder(named, None, places()).python.executable == base


def test_without_an_image_none_is_looked_for(recipe: Path) -> None:
    """No engine is asked."""
    assert find_image(read_recipe(recipe), places()) is None


def test_a_machine_without_an_engine_unpacks_the_image(machine: Path) -> None:
    """With `rootfs` no engine is asked: the image's root is looked for in the cache, by its id."""
    wanted = Machine(engine="rootfs", jobs=2)
    with pytest.raises(HostError) as caught:
        executor_for(wanted, IMAGE, places(), machine / "w", "r-1")
    (places().cache / "roots" / IMAGE.id).mkdir(parents=True)

    executor = executor_for(wanted, IMAGE, places(), machine / "w", "r-1")

    assert (caught.value.reference, executor.name, executor.environment()) == (
        "image-missing",
        "rootfs",
        {"MAX_JOBS": "2"},
    )


def test_an_unpacked_image_is_found_by_its_name(recipe: Path, machine: Path) -> None:
    """A recipe without an id is locked to the one image of that name; another id than the recipe's is refused."""
    roots = places().cache / "roots"
    (roots / IMAGE.id).mkdir(parents=True)
    (roots / f"{IMAGE.id}.json").write_text('{"name": "localhost/x:latest"}', encoding="utf-8")
    named = ("image.name='localhost/x'", "machine.engine='rootfs'", "python.version='3.13'")

    assert find_image(read_recipe(recipe, overrides=named), places()) == IMAGE

    with pytest.raises(HostError) as caught:
        find_image(read_recipe(recipe, overrides=(*named, f"image.id='{'1' * 64}'")), places())
    assert caught.value.reference == "image-other-id"


def test_stale_containers_go_before_a_build_does(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever enters a workspace, a build or a shell, is alone in it."""
    engine = machine / "bin" / "podman"
    engine.parent.mkdir()
    engine.write_text(
        f'#!/bin/sh\necho "$2" >>{machine}/asked\ntest "$2" != ps || echo left\n', encoding="utf-8"
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine.parent}:/usr/bin:/bin")

    executor_alone(Machine(engine="podman"), IMAGE, places(), machine / "w", "r-1")

    assert (machine / "asked").read_text(encoding="utf-8").split() == ["info", "ps", "ps", "rm"]


def test_words_of_an_engine_are_no_part_of_the_answer() -> None:
    """Podman of an ordinary user warns in the same log; a program that prints no answer has none."""
    warned = f'Resource limits are not supported\n{{"level": "warn"}}\n{json.dumps(SEEN)}\n{{"msg": "end"}}\nmore\n'

    assert _answer(warned) == SEEN
    assert _answer("17\n[]\n}\n") is None
