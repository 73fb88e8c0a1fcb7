"""The commands around the one that builds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import LockError
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, lock_of
from torchbuild.resolve.environment import BASE
from torchbuild.resolve.frontend import front_end, install_command, pip_wheel, plain, requirement_lines

CMAKE = "[build]\ncmake = { CMAKE_CXX_FLAGS = '-g -O1', USE_Z = true }"


@pytest.fixture
def lock(load: Callable[..., Recipe], least: str, answers: Callable[..., Answers]) -> Callable[[str], Lock]:
    """A lock of an era."""
    return lambda era: lock_of(load(least + CMAKE), answers(era=era))


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_one_command_builds_every_era(lock: Callable[[str], Lock], era: str) -> None:
    """The locked interpreter runs the build front end by absolute path, without isolation and without a network."""
    command = front_end(lock(era))

    assert command.argv[:7] == (
        "{venv}/bin/python", "-m", "build", "--wheel", "--no-isolation", "--outdir", "{dist}",
    )  # fmt: skip
    assert command.cwd == "{source}"
    assert command.network == "none"
    assert "--skip-dependency-check" not in command.argv


def test_definitions_are_settings_of_the_new_front_end(lock: Callable[[str], Lock]) -> None:
    """Where the environment comes too late, definitions go with the command, each as one argument."""
    assert front_end(lock("scikit-build-core")).argv[7:] == (
        "-Cbuild-dir=build",
        "-Ccmake.build-type=Release",
        "-Ccmake.define.CMAKE_CXX_FLAGS=-g -O1",
        "-Ccmake.define.USE_Z=ON",
    )
    assert front_end(lock("setup-py")).argv[7:] == ()


def test_other_commands_see_the_common_environment(lock: Callable[[str], Lock]) -> None:
    """What is not the build itself has nothing of the build's own variables."""
    command = plain(lock("setup-py"), "/bin/true", "x", cwd="{source}")

    assert command.argv == ("/bin/true", "x")
    assert dict(command.environ) == BASE | {"SOURCE_DATE_EPOCH": "1700000000"}
    assert list(command.environ) == sorted(command.environ)


def test_files_are_installed_by_hash_and_nothing_is_looked_up(lock: Callable[[str], Lock]) -> None:
    """An environment is made of the locked files and of nothing that an index or a configuration could add."""
    command = install_command(lock("setup-py"), "{venv}/bin/python", "{work}/requirements.txt")

    assert command.argv[:4] == (
        "{venv}/bin/python", "-I", "{work}/inputs/build/pip-26.3-py3-none-any.whl/pip", "install",
    )  # fmt: skip
    assert {"--no-index", "--no-deps", "--require-hashes"} <= set(command.argv)
    assert command.argv[-2:] == ("-r", "{work}/requirements.txt")


def test_a_lock_without_pip_is_told(lock: Callable[[str], Lock]) -> None:
    """A lock that cannot be installed from is the lock's fault, by name."""
    bare = lock("setup-py").model_copy(
        update={
            "build_requires": (
                Artifact(locator="pypi:pip-tools/pip_tools-1-py3-none-any.whl", sha256="ab" * 32),
            )
        }
    )

    with pytest.raises(LockError) as caught:
        pip_wheel(bare)

    assert caught.value.reference == "lock-lacks-pip"


def test_a_requirements_file_names_each_file_and_its_digest() -> None:
    """Each line is one file by path and hash, in an order that does not depend on the lock's."""
    files = (
        Artifact(locator="pypi:b/b-1+cpu-py3-none-any.whl", sha256="cd" * 32),
        Artifact(locator="pypi:a/a-1-py3-none-any.whl", sha256="ab" * 32),
    )

    text = requirement_lines("/torchbuild/inputs/build", files)

    assert text == (
        f"file:///torchbuild/inputs/build/a-1-py3-none-any.whl --hash=sha256:{'ab' * 32}\n"
        f"file:///torchbuild/inputs/build/b-1+cpu-py3-none-any.whl --hash=sha256:{'cd' * 32}\n"
    )
    assert requirement_lines("/x", files[::-1]) == requirement_lines("/x", files)
    assert requirement_lines("/x", ()) == ""
