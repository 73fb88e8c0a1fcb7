"""Why each line of a recipe and of its lock is what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.resolve.explained import Explained, lock_lines, recipe_lines
from torchbuild.resolve.load import load_with_places
from torchbuild.resolve.lockfile import parse_lock

REAL = Path(__file__).parents[1] / "data" / "torch-2.6-cpu.lock"
BASE = """\
schema = 1
[source]
git = "https://example.org/sample.git"
ref = "v1"
[wheel]
version = "2.6.0"
"""
TOP = """\
schema = 1
name = "top"
extends = "base.toml"
target = { gpus = ["GTX 1080 Ti"], driver = ">=535" }
[cuda]
version = "12.4.1"
[cudnn]
version = "9.1.0.70"
[build]
flags = { USE_KINETO = false }
"""


def lines(text: str = TOP, *overrides: str) -> dict[str, Explained]:
    """The lines of a recipe that extends another one, by key."""
    files = {"top.toml": text, "base.toml": BASE}
    loaded = load_with_places("top.toml", files.__getitem__, overrides=overrides)
    return {item.key: item for item in recipe_lines(loaded, first="top.toml")}


def test_each_line_says_where_it_stands() -> None:
    """In the recipe, in what it extends, on the command line, or nowhere."""
    found = lines(TOP, "wheel.local=mine")

    assert (found["cuda.version"].origin, found["cuda.version"].where) == ("recipe", "top.toml:6")
    assert (found["source.ref"].origin, found["source.ref"].where) == ("extends", "base.toml:4")
    assert (found["wheel.local"].origin, found["wheel.local"].value) == ("--set", '"mine"')
    assert (found["target.machine"].origin, found["target.machine"].why) == ("default", "nobody wrote it")
    assert found["target.driver"].where == "top.toml:4"
    assert found["build.flags.USE_KINETO"].where == "top.toml:10"


def test_what_facts_derived_says_so_with_the_facts() -> None:
    """Two facts at least: what the GPU is, and what compiles for it."""
    found = lines()["cuda.archs"]

    assert (found.origin, found.value, found.where) == ("facts", '["6.1"]', "")
    assert any("GTX 1080 Ti has compute capability 6.1 (gpus.product" in fact for fact in found.facts)
    assert any("compiles for sm_61 (cuda.arch 61: " in fact for fact in found.facts)


def test_what_the_facts_would_choose_is_said_beside_what_is_written() -> None:
    """The same choice with its reason; another one with what is different."""
    found = lines()

    assert found["cuda.version"].why.startswith("the facts alone would choose 12.6.3: ")
    assert found["cudnn.version"].why == "torch was released with it"
    assert all("(" in fact or "driver 535" in fact for fact in found["cuda.version"].facts)


def test_a_written_list_is_the_authors() -> None:
    """Even where it is the one that would be derived."""
    found = lines(TOP, 'cuda.archs=["6.1"]')["cuda.archs"]

    assert (found.origin, found.why) == ("--set", "machine code for each GPU")


def test_another_package_has_no_facts() -> None:
    """Its lines say where they stand, and nothing is made up."""
    found = lines(TOP, "wheel.package=torchlet", 'cuda.archs=["6.1"]')

    assert all(item.facts == () for item in found.values())


def test_the_real_lock_is_explained() -> None:
    """Where each digest is from, what was asked of the world, and how much the gate compares and why."""
    found = {item.key: item for item in lock_lines(parse_lock(REAL.read_text(encoding="utf-8"), "x"), "x")}

    assert found["lock.source.archive"].why == "read from the publisher's signed lists"
    assert found["lock.image.packages"].value == "219 of trixie"
    assert "USE_CUDA=OFF: build.preset minimal" in found["lock.environ"].facts
    assert "23 because of build.preset minimal" in found["lock.expect"].facts
    assert found["lock.build_requires"].why.endswith("digests read from the package index")
    assert {item.origin for item in found.values()} == {"lock"}


@pytest.mark.parametrize(
    ("locator", "unpinned", "origin"),
    [
        ("pypi:nvidia-nccl-cu12/x.whl", (), "read from the package index"),
        ("nvidia:compute/x.tar.xz", (), "read from the publisher's document"),
        (
            "nvidia:compute/redist/nccl/x.txz",
            ("nvidia:compute/redist/nccl/x.txz: digest computed from the bytes seen on first use",),
            "computed from the bytes when they were first seen: the publisher names none",
        ),
        ("https://example.org/x.txz", (), "named by the recipe, or computed from the bytes"),
    ],
)
def test_a_part_says_who_provides_it_and_whose_its_digests_are(
    make_lock: Callable[..., Lock], locator: str, unpinned: tuple[str, ...], origin: str
) -> None:
    """A digest that nobody published is told from one that somebody did."""
    piece = LockedPiece(artifact=Artifact(locator=locator, sha256="ab" * 32))
    part = LockedPart(
        name="nccl", provider="wheels", version="2.21.5", prefix="/torchbuild/parts/nccl", pieces=(piece,)
    )
    lock = make_lock(parts=(part,), unpinned=unpinned)

    (found,) = (item for item in lock_lines(lock, "x") if item.key == "lock.parts.nccl")
    assert found.value == "2.21.5 in /torchbuild/parts/nccl"
    assert found.why == "provided by wheels"
    assert found.facts == (f"{locator}: sha256 {'ab' * 32}, {origin}",)
