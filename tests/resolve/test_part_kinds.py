"""Each part's steps: scripts that are there, and requests that they understand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any, get_args

import pytest

from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart, LockedPiece, PartName, prefix_of
from torchbuild.resolve.part_kinds import KINDS, Guest, Program, wanted_of

MakeLock = Callable[..., Lock]


def part(
    name: PartName, provider: str, *, how: str = "unpack", version: str = "12.4.1", **says: str
) -> LockedPart:
    """A part of our own."""
    piece = LockedPiece.model_validate(
        {"artifact": Artifact(locator="https://example.org/f.tar.xz", sha256="ab" * 32, size=9), "how": how}
    )
    return LockedPart(
        name=name, provider=provider, version=version, prefix=prefix_of(name), pieces=(piece,), says=says
    )


CUDA = part("cuda", "redist")
SAYS = {"blas": "mkl", "libraries": "mkl_core", "linkage": "shared"}
PARTS = [
    part("python", "uv", version="3.13.5", executable="/p", soabi="cpython-313", include="/i"),
    CUDA,
    part("cuda", "runfile", how="runfile"),
    part("nccl", "wheels", version="2.21.5"),
    part("nccl", "source", how="source", version="2.21.5"),
    part("cudnn", "tarball", version="9.1.0.70"),
    part("blas", "wheels", version="2024.2.2", **SAYS),
    part("openmp", "wheels", version="2024.2.1", openmp="iomp"),
]


@pytest.fixture
def lock(make_lock: MakeLock) -> Lock:
    """A lock with a toolkit."""
    return make_lock(parts=(CUDA,), gpu_archs=("9.0+PTX",))


def test_every_part_can_be_proven() -> None:
    """No part of a lock is taken on trust."""
    assert set(KINDS) == set(get_args(PartName))
    assert all(guest.checks for kind in KINDS.values() for guest in kind.looks)


@pytest.mark.parametrize("item", PARTS, ids=lambda item: f"{item.name}-{item.provider}")
def test_each_script_is_there_and_is_told_what_it_asks(item: LockedPart, lock: Lock) -> None:
    """A script of that name runs in the build, and each word of its request stands in the script."""
    kind = KINDS[item.name]
    for step in (*kind.make(item), *kind.looks):
        if isinstance(step, Program):
            assert step.commands(item, lock)
            continue
        text = files("torchbuild.shim").joinpath(step.script).read_text(encoding="utf-8")
        told = dict(step.told(item, lock))
        assert json.loads(json.dumps(told)) is not None
        words = set(re.findall(r"\w+", text))
        assert set(told) - words == set(), step.script


def test_a_part_of_the_builder_is_only_looked_at() -> None:
    """Nothing of it is changed."""
    for name in ("cuda", "nccl", "blas", "openmp", "python"):
        here: Any = LockedPart.model_validate(
            {"name": name, "provider": "system", "version": "", "prefix": "/usr"}
        )
        assert KINDS[here.name].make(here) == ()


def test_the_installer_runs_before_the_toolkit_is_completed() -> None:
    """And what came of it is judged before anything goes on."""
    steps = [
        step for step in KINDS["cuda"].make(part("cuda", "runfile", how="runfile")) if isinstance(step, Guest)
    ]

    assert [step.script for step in steps] == ["install_runfile.py", "complete_cuda.py"]
    assert all(step.checks for step in steps)


def test_a_source_is_looked_at_built_and_completed(lock: Lock) -> None:
    """With the recipe's architectures, the locked host compiler, and a number of jobs that no plan holds."""
    source = part("nccl", "source", how="source", version="2.21.5")
    build = next(step for step in KINDS["nccl"].make(source) if isinstance(step, Program))

    (command,) = build.commands(source, lock)
    assert "-j{jobs}" in command.argv
    assert f"CXX={lock.cxx}" in command.argv
    assert "CUDA_HOME=/torchbuild/parts/cuda" in command.argv
    assert any("arch=compute_90,code=sm_90" in word for word in command.argv)


def test_what_parts_are_compared_with_comes_from_the_lock(lock: Lock) -> None:
    """Another package than torch has no releases that are known."""
    wanted = wanted_of(lock)

    assert (wanted.archs, wanted.cuda, wanted.cxx) == (("9.0+PTX",), "12.4", lock.cxx)
    assert (wanted.torch, wanted.standard) == ("", "17")
