"""What the toolchain stage does for each part."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from torchbuild.errors import LockError
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart
from torchbuild.resolve import planned_parts as module
from torchbuild.resolve.planned_parts import REQUESTS, planned_parts, steps_of

CUDA = LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr")
ENVIRON = (("LC_ALL", "C.UTF-8"),)


def test_the_builders_interpreter_is_proven_where_no_lock_names_it(make_lock: Callable[..., Lock]) -> None:
    """An old lock is as good as a new one; nothing is laid for it."""
    (python,) = planned_parts(make_lock(), "/torchbuild/venv/bin/python", ENVIRON)

    assert (python.part.name, python.part.provider, python.part.is_ours) == ("python", "system", False)
    (step,) = python.steps
    assert step.commands[0].argv[0] == "/usr/bin/python3.13"


def test_a_script_reads_its_request_from_a_file_with_the_paths_of_the_build(
    make_lock: Callable[..., Lock],
) -> None:
    """What it is told is in the plan, without a placeholder, so that a dry run shows it."""
    lock = make_lock(parts=(CUDA,), gpu_archs=("9.0",))

    _, cuda = planned_parts(lock, "{venv}/bin/python", ENVIRON)

    for step in cuda.steps:
        assert step.request is not None
        path, text = step.request
        (command,) = step.commands
        assert path.startswith(f"{REQUESTS}/cuda-")
        assert command.argv == ("{venv}/bin/python", "-I", command.argv[2], path)
        assert command.environ == ENVIRON
        assert "{venv}" not in text
        assert json.loads(text)


def test_what_the_tree_builds_has_no_steps() -> None:
    """It is not there yet; the gate is what looks."""
    bundled = LockedPart(name="nccl", provider="bundled", version="", prefix="/torchbuild/source/build/nccl")

    assert steps_of(bundled) == ()


def test_a_part_of_a_newer_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never left out in silence."""
    monkeypatch.setattr(module, "KINDS", {})

    with pytest.raises(LockError) as caught:
        steps_of(CUDA)

    assert caught.value.reference == "lock-part-unknown"
