"""Edit, build, look again: one kept workspace for a recipe, in which only what changed is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(1800)

RUN = "torchlet-edit-dev"


def compile_of(ended: Any) -> dict[str, str]:
    """What the compile stage of a run measured."""
    report = json.loads(Path(ended.json["report"]).read_text(encoding="utf-8"))
    assert report["is_dev"]
    (stage,) = [item for item in report["stages"] if item["stage"] == "compile"]
    evidence: dict[str, str] = stage["evidence"]
    return evidence


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_an_edit_costs_what_it_changed(fresh: Any, arguments: Any, tmp_path: Path, era: str) -> None:
    """The wheel says dev, an edit reaches it, nothing else is compiled again, and new flags begin anew."""
    recipe = arguments(era, name="torchlet-edit")
    command = ("build", *recipe[:-2], "--lock", tmp_path / "dev.lock", "--dev", "--out", "dist", "--json")

    first = fresh.good(*command)
    whole = int(compile_of(first)["edges"])
    tree = fresh.root(RUN) / "source"
    file = tree / "csrc" / "torchlet.cpp"
    file.write_text(file.read_text() + '\nextern "C" int torchlet_edited() { return 42; }\n')
    edited = fresh.good(*command)
    part = int(compile_of(edited)["edges"])
    again = fresh.good(*command)

    assert first.json["run"] == edited.json["run"] == RUN
    assert "+demo.dev-" in first.json["wheel"]
    assert first.json["sha256"] != edited.json["sha256"] == again.json["sha256"]
    assert {edited.outcomes[name] for name in ("toolchain", "source", "configure")} == {"reused"}
    assert part < whole
    assert b"torchlet_edited" in (tree / "build").joinpath("libtorchlet.so").read_bytes()

    changed = fresh.good(*command, "--set", "build.type=Debug")

    assert changed.outcomes["configure"] == "done"
    assert file.read_text().endswith("return 42; }\n")


def test_what_changed_upstream_arrives_beside_an_edit(fresh: Any, arguments: Any, tmp_path: Path) -> None:
    """A patch that is added to the recipe reaches the kept tree; edits of other files stay."""
    recipe = arguments("setup-py", name="torchlet-edit")
    command = (
        "build",
        *recipe[:-2],
        "--lock",
        tmp_path / "dev.lock",
        "--dev",
        "--until",
        "compile",
        "--json",
    )
    fresh.good(*command)
    tree = fresh.root(RUN) / "source"
    header = tree / "csrc" / "torchlet.h"
    header.write_text("// mine\n" + header.read_text())
    before = (tree / "csrc" / "torchlet.cpp").stat().st_mtime_ns

    ended = fresh.good(
        *command, "--set", 'source.prepare=[{argv=["/bin/sh", "-c", "echo // theirs >>csrc/python.cpp"]}]'
    )

    assert ended.outcomes["source"] == "done"
    assert ended.outcomes["configure"] == "reused"
    assert header.read_text().startswith("// mine\n")
    assert (tree / "csrc" / "python.cpp").read_text().endswith("// theirs\n")
    assert (tree / "csrc" / "torchlet.cpp").stat().st_mtime_ns == before
