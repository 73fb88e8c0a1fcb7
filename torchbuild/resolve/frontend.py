"""The one command that builds a wheel in every era, and the commands around it."""

from __future__ import annotations

from torchbuild.errors import LockError
from torchbuild.model.artifact import Artifact
from torchbuild.model.command import Command
from torchbuild.model.lock import Lock
from torchbuild.resolve.environment import BASE, full_environment
from torchbuild.resolve.launchers import launchers

__all__ = ["front_end", "install_command", "pip_wheel", "plain", "requirement_lines"]

VENV_PYTHON = "{venv}/bin/python"


def front_end(lock: Lock) -> Command:
    """``python -m build --wheel --no-isolation``: the locked interpreter, by absolute path."""
    settings: tuple[str, ...] = ()
    if lock.era == "scikit-build-core":
        # one build tree for configure and compile, where the gate looks
        settings = (
            "-Cbuild-dir=build",
            f"-Ccmake.build-type={lock.environ.get('CMAKE_BUILD_TYPE', 'Release')}",
            *(f"-Ccmake.define.{name}={value}" for name, value in lock.defines.items()),
        )
    argv = (VENV_PYTHON, "-m", "build", "--wheel", "--no-isolation", "--outdir", "{dist}", *settings)
    environ = dict(full_environment(lock)) | launchers(lock.expect)
    return Command(argv=argv, cwd="{source}", environ=tuple(sorted(environ.items())))


def plain(lock: Lock, *argv: str, cwd: str = "{work}") -> Command:
    """A command of ours in the build, with the common environment only."""
    environ = BASE | {"SOURCE_DATE_EPOCH": str(lock.epoch)}
    return Command(argv=argv, cwd=cwd, environ=tuple(sorted(environ.items())))


def pip_wheel(lock: Lock) -> str:
    """The locked pip, which runs from its wheel in any interpreter.

    Raises:
        LockError: ``lock-lacks-pip``.
    """
    name = next((item.name for item in lock.build_requires if item.name.startswith("pip-")), None)
    if name is None:
        raise LockError(
            "lock-lacks-pip",
            f"the lock of {lock.name} has no pip among its build requirements",
            why="wanted a wheel of pip: it installs all others",
            fix="Make the lock anew with `torchbuild lock`.",
        )
    return "{work}/inputs/build/" + name + "/pip"


def install_command(lock: Lock, python: str, requirements: str) -> Command:
    """Install files by hash; nothing is looked up anywhere."""
    options = (
        *("--no-index", "--no-deps", "--require-hashes", "--no-cache-dir", "--disable-pip-version-check"),
        "--no-warn-script-location",
        "--no-compile",  # what is imported is compiled then; all of it takes half of the time
    )
    return plain(lock, python, "-I", pip_wheel(lock), "install", *options, "-r", requirements)


def requirement_lines(folder: str, artifacts: tuple[Artifact, ...]) -> str:
    """A requirements file that names each wheel by path and hash."""
    lines = [f"file://{folder}/{item.name} --hash=sha256:{item.sha256}" for item in artifacts]
    return "".join(line + "\n" for line in sorted(lines))
