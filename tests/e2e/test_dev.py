"""Edit, build, look again: one kept workspace for a recipe, in which only what changed is built."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(1800)

RUN = "torchlet-edit-dev"
EXAMPLE = Path(__file__).parents[2] / "examples" / "torchlet"


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
    papers = json.loads(Path(first.json["wheel"]).with_suffix(".provenance.json").read_text(encoding="utf-8"))
    assert papers["predicate"]["buildDefinition"]["externalParameters"]["dev"] is True
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


def packed(ended: Any) -> set[str]:
    """The names of the files in a wheel."""
    with zipfile.ZipFile(ended.json["wheel"]) as wheel:
        return set(wheel.namelist())


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_what_the_source_no_longer_has_is_not_in_the_wheel(
    fresh: Any, arguments: Any, tmp_path: Path, era: str
) -> None:
    """Taken away by hand or by the recipe: the front end's own leavings bring nothing back."""
    recipe = arguments(era, name="torchlet-edit")
    command = ("build", *recipe[:-2], "--lock", tmp_path / "dev.lock", "--dev", "--out", "dist", "--json")
    fresh.good(*command, "--until", "source")
    tree = fresh.root(RUN) / "source"
    (tree / "torchlet" / "mine.pyi").write_text("# mine\n")
    cmake = (tree / "CMakeLists.txt").read_text()
    more = "add_library(gone SHARED csrc/gone.cpp)\ninstall(TARGETS gone DESTINATION lib)\n"
    (tree / "csrc" / "gone.cpp").write_text("int gone() { return 1; }\n")
    (tree / "CMakeLists.txt").write_text(cmake + more)

    before = packed(fresh.good(*command))
    (tree / "torchlet" / "mine.pyi").unlink()
    (tree / "CMakeLists.txt").write_text(cmake)
    ended = fresh.good(*command, "--set", 'source.prepare=[{argv=["/bin/sh", "-c", "rm torchlet/_C.pyi"]}]')
    after = packed(ended)

    gone = {"torchlet/mine.pyi", "torchlet/_C.pyi", "torchlet/lib/libgone.so"}
    assert gone <= before
    assert before - after == gone
    assert ended.outcomes["configure"] == "reused"
    assert int(compile_of(ended)["edges"]) < 5


def with_option(default: str) -> str:
    """A patch that adds an option to the tree; nothing where there is none."""
    if not default:
        return ""
    lines = (EXAMPLE / "tree" / "CMakeLists.txt").read_text().splitlines()
    at = next(
        number for number, line in enumerate(lines) if line.startswith("cmake_dependent_option(USE_MPI")
    )
    old = "".join(f" {line}\n" for line in lines[at : at + 2])
    head = f"--- a/CMakeLists.txt\n+++ b/CMakeLists.txt\n@@ -{at + 1},2 +{at + 1},3 @@\n"
    first, second = old.splitlines(keepends=True)
    return f'{head}{first}+option(USE_EXTRA "x" {default})\n{second}'


def test_an_option_may_change_and_go(fresh: Any, arguments: Any, tmp_path: Path) -> None:
    """What CMake kept of an earlier tree is forgotten where it is refused; objects are not made again."""
    _, whole, *settings = ("build", *arguments("setup-py", name="torchlet-edit")[:-2])
    recipe = tmp_path / "recipe.toml"
    text = Path(whole).read_text()
    line = 'ref = "v1.0.0"\n'
    assert line in text
    seen = []
    for default in ("ON", "OFF", ""):
        (tmp_path / "option.patch").write_text(with_option(default))
        patches = 'patches = ["option.patch"]\n' if default else ""
        recipe.write_text(text.replace(line, line + patches))
        options = ("--lock", tmp_path / "dev.lock", "--dev", "--until", "compile", "--json")
        ended = fresh.good("build", recipe, *settings, *options)
        cache = (fresh.root(RUN) / "source" / "build" / "CMakeCache.txt").read_text()
        found = [row for row in cache.splitlines() if row.startswith("USE_EXTRA:")]
        seen.append((found, int(compile_of(ended)["edges"])))

    assert [found for found, _ in seen] == [["USE_EXTRA:BOOL=ON"], ["USE_EXTRA:BOOL=OFF"], []]
    assert max(edges for _, edges in seen[1:]) < seen[0][1]
