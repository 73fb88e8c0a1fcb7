"""A build tree that is there already, and whether it is gone on with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.kept_tree import forget_refused, keep_or_remove, mark_configured
from torchbuild.model.finding import Finding
from torchbuild.model.fingerprint import FINGERPRINT, Fingerprint

MINE = Fingerprint(asked={"variable CFLAGS": "-O2"})
PASSED = Finding(reference="gate-flag", outcome="passed", what="USE_CUDA", seen="OFF", wanted="OFF")
REFUSED = PASSED.model_copy(update={"outcome": "failed", "seen": "ON"})
STALE = Finding(
    reference="tree-fingerprint",
    outcome="failed",
    what="/usr/bin/cc1plus",
    seen="sha256 bb",
    wanted="sha256 aa",
)


@pytest.fixture
def tree(tmp_path: Path) -> Any:
    """A build tree with an object in it, and a world that may remove it."""
    from torchbuild.edges.store import DirectoryStore
    from torchbuild.edges.trees import StoreTrees

    def inside(path: str) -> Path:
        return tmp_path / path.replace("{source}", "source").replace("{shim}", "shim")

    events: list[Any] = []
    build = tmp_path / "source" / "build"
    build.mkdir(parents=True)
    (build / "a.o").write_text("an object")
    (build / "CMakeCache.txt").write_text("A:BOOL=ON")
    context = SimpleNamespace(
        workspace=SimpleNamespace(inside=inside),
        trees=StoreTrees(DirectoryStore(tmp_path / "store")),
        reporter=SimpleNamespace(emit=events.append),
        is_dev=True,
    )
    return SimpleNamespace(build=build, context=context, events=events)


def keeps(tree: Any, fingerprint: Fingerprint) -> None:
    """It says what it was made with."""
    (tree.build / FINGERPRINT).write_text(fingerprint.model_dump_json())


def test_the_same_is_kept_where_people_edit(tree: Any) -> None:
    """Not one object is compiled again."""
    keeps(tree, MINE)

    assert keep_or_remove("configure", MINE, tree.context) == (True, ())
    assert (tree.build / "a.o").exists()
    assert tree.events == []


def test_another_is_removed_and_why_is_told(tree: Any) -> None:
    """Before CMake looks at it."""
    keeps(tree, Fingerprint(asked={"variable CFLAGS": "-O3"}))

    is_kept, (finding,) = keep_or_remove("configure", MINE, tree.context)

    assert not is_kept
    assert (finding.reference, finding.outcome) == ("tree-begun-anew", "warned")
    assert finding.what.endswith("is begun anew: variable CFLAGS: was -O3, now -O2")
    assert [event.finding for event in tree.events] == [finding]
    assert not tree.build.exists()


def test_one_that_says_nothing_is_removed(tree: Any) -> None:
    """An earlier version's, or one that was half removed."""
    assert keep_or_remove("configure", MINE, tree.context) == (False, ())
    assert not tree.build.exists()


def test_where_nobody_edits_none_is_kept(tree: Any) -> None:
    """Configure begins in an empty tree."""
    keeps(tree, MINE)
    tree.context.is_dev = False

    assert keep_or_remove("configure", MINE, tree.context) == (False, ())
    assert not tree.build.exists()


@pytest.mark.parametrize("is_kept", [False, True])
def test_objects_of_another_compiler_go_whole(tree: Any, is_kept: bool) -> None:
    """What differs is named, and nothing of the old tree stays."""
    finding = forget_refused("compile", (STALE,), tree.context, is_kept=is_kept)

    assert finding is not None
    assert "/usr/bin/cc1plus: was sha256 aa, now sha256 bb" in finding.what
    assert not tree.build.exists()


def test_many_changes_are_told_by_the_first(tree: Any) -> None:
    """A line stays a line."""
    many = tuple(STALE.model_copy(update={"what": f"tool {number}"}) for number in range(9))

    finding = forget_refused("compile", many, tree.context, is_kept=False)

    assert finding is not None
    assert finding.what.endswith("tool 5: was sha256 aa, now sha256 bb and 3 more")


def test_what_cmake_kept_goes_alone(tree: Any) -> None:
    """The objects are the same make's."""
    finding = forget_refused("compile", (PASSED, REFUSED), tree.context, is_kept=True)

    assert finding is not None
    assert finding.reference == "cache-forgotten"
    assert (tree.build / "a.o").exists()
    assert not (tree.build / "CMakeCache.txt").exists()


@pytest.mark.parametrize(("findings", "is_kept"), [((REFUSED,), False), ((PASSED,), True), ((), True)])
def test_nothing_goes_without_a_reason(tree: Any, findings: tuple[Finding, ...], is_kept: bool) -> None:
    """A refusal of a new tree stands."""
    assert forget_refused("compile", findings, tree.context, is_kept=is_kept) is None
    assert (tree.build / "CMakeCache.txt").exists()


@pytest.mark.parametrize(
    ("findings", "is_marked"), [((PASSED,), True), ((PASSED, REFUSED), False), ((), False)]
)
def test_only_what_was_compared_is_marked(tree: Any, findings: tuple[Finding, ...], is_marked: bool) -> None:
    """A mark is a word that nothing was refused."""
    mark_configured(findings, tree.context)

    assert (tree.build / ".torchbuild-configured").exists() is is_marked
