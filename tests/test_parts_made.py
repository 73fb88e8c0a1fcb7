"""Verdicts on parts; what is laid and run stands in tests/stages/test_toolchain_parts.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.parts_made import clear_parts, prove_part, settled
from torchbuild.resolve.planned_parts import PlannedPart
from torchbuild.toolchains.proof import Wanted


@pytest.fixture
def context(tmp_path: Path) -> Any:
    """As much of a world as a verdict needs."""
    told: list[Finding] = []
    gone: list[Path] = []
    return SimpleNamespace(
        reporter=SimpleNamespace(emit=lambda event: told.append(event.finding)),
        workspace=SimpleNamespace(logs=tmp_path, inside=lambda path: tmp_path / path.strip("/{}")),
        trees=SimpleNamespace(remove=gone.append),
        told=told,
        gone=gone,
    )


def test_what_failed_is_told_with_its_reason_and_its_log(context: Any, tmp_path: Path) -> None:
    """And what passed before it is not lost."""
    good = Finding(reference="cuda-release", outcome="passed", what="release")
    bad = Finding(reference="cuda-probe", outcome="failed", what="probe", seen="no cmath", wanted="compiles")

    assert settled((good,), "look", context) == (good,)
    with pytest.raises(StageError) as caught:
        settled((good, bad), "look", context)

    assert caught.value.reference == "toolchain-not-as-locked"
    assert caught.value.why == ("[cuda-probe] probe: seen no cmath, wanted compiles",)
    assert caught.value.link == str(tmp_path / "look.log")
    assert context.told == [good, good, bad]


def test_nothing_of_an_earlier_lock_stays(context: Any) -> None:
    """Neither its parts nor what a killed make left."""
    clear_parts(context)

    assert [path.name for path in context.gone] == ["parts", "parts-build"]


def test_what_the_tree_builds_is_said_to_be_unproven(context: Any) -> None:
    """A check that could not run is in the report as such."""
    part = LockedPart(name="nccl", provider="bundled", version="", prefix="/torchbuild/source/build/nccl")

    (finding,) = prove_part(PlannedPart(part=part, steps=()), Wanted(), context)

    assert (finding.outcome, finding.seen) == ("not run", "")
