"""What holds for every test, and what tests of several rooms need: a lock, a guard against side effects."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from torchbuild.inspection.wheel import SOURCES as CHECKS
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.knowledge.tables import option_facts
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Expectation, Lock, LockedPython, LockedSource, LockedVerify, LockedWheel

# The same examples each time, however busy the machine is: a test that fails, fails for everybody.
# TORCHBUILD_EXPLORE=1 looks further, with new examples each time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("explore" if os.environ.get("TORCHBUILD_EXPLORE") else "steady")


def pytest_configure() -> None:
    """Ctrl-C and a terminal that closes have their meaning, also where the tests run in the background of a script,
    which ignores the first, or under nohup, which ignores the second.
    Nobody's own facts decide here.
    """
    os.environ.pop("TORCHBUILD_KNOWLEDGE", None)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def make_lock() -> Callable[..., Lock]:
    """A lock of torchlet from git; any field of it can be another one."""

    def build(**changed: Any) -> Lock:
        fields: dict[str, Any] = {
            "schema": 1,
            "name": "torchlet",
            "recipe": "0" * 64,
            "machine": "x86_64",
            "glibc": "2.36",
            "epoch": 1706745600,
            "era": "setup-py",
            "source": LockedSource(kind="git", url="https://example.org/torchlet", commit="a" * 40),
            "python": LockedPython(
                executable="/usr/bin/python3.13",
                version="3.13.5",
                soabi="cpython-313-x86_64-linux-gnu",
                tag="cp313",
            ),
            "cc": "/usr/bin/gcc",
            "cxx": "/usr/bin/g++",
            "compiler": "g++ (Debian 14.2.0) 14.2.0",
            "compiler_cache": "none",
            "environ": {"USE_CUDA": "OFF"},
            "defines": {},
            "expect": (
                Expectation(
                    reference="gate-flag",
                    key="USE_CUDA",
                    kind="switch",
                    value="OFF",
                    why="build.flags.USE_CUDA",
                ),
            ),
            "build_requires": (wheel("pip-26.0-py3-none-any.whl"), wheel("ninja-1.13.0-py3-none-any.whl")),
            "run_requires": (),
            "verify_requires": (),
            "wheel": LockedWheel(
                package="torchlet",
                version="1.0.0+demo",
                public_version="1.0.0",
                build_number=1,
                requires=(),
                system_libraries=(),
                runtime="builder",
            ),
            "verify": LockedVerify(
                level="cpu", require=("import-identity", "config"), settings={"BLAS_INFO": "generic"}
            ),
        }
        return Lock.model_validate(fields | changed)

    return build


def wheel(name: str, content: bytes = b"") -> Artifact:
    """A wheel of an index, by the digest of its content."""
    digest = hashlib.sha256(content or name.encode()).hexdigest()
    return Artifact(locator=f"pypi:{name.partition('-')[0]}/{name}", sha256=digest, size=len(content or name))


@pytest.fixture
def artifact() -> Callable[..., Artifact]:
    """A wheel of an index."""
    return wheel


@pytest.fixture
def lock(make_lock: Callable[..., Lock]) -> Lock:
    """A lock of torchlet."""
    return make_lock()


@pytest.fixture
def nothing_moves(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A context in which opening a file, starting a process or a connection raises.

    The program's own sources and facts are read before: they are not the machine's, and read once.
    """
    option_facts()
    sources_digest("shim"), sources_digest(*CHECKS), sources_digest("smoke", "inspection")
    sources_digest("knowledge/data/numpy.toml"), sources_digest("shim", "shim/launch.c")

    @contextmanager
    def guard() -> Iterator[None]:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a pure function touched the machine")

        with monkeypatch.context() as patch:
            patch.setattr("builtins.open", refuse)
            patch.setattr("io.open", refuse)
            patch.setattr(os, "open", refuse)
            patch.setattr(os, "scandir", refuse)
            patch.setattr(os, "stat", refuse)
            patch.setattr(subprocess, "Popen", refuse)
            patch.setattr(socket, "socket", refuse)
            patch.setattr(shutil, "rmtree", refuse)
            yield

    return guard
