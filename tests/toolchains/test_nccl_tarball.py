"""NCCL out of NVIDIA's archive: the one of the table, never a name that was made up."""

from __future__ import annotations

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.nccl_tarballs import nccl_tarballs
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import nccl_tarball
from torchbuild.toolchains.provider import Answers, Provider

PROVIDER: Provider = nccl_tarball
DIGEST = "ab" * 32
OWN = "file:nccl.txz"


def recipe(cuda: str | None = "11.8.0", machine: str = "x86_64", **nccl: str) -> Recipe:
    """A recipe with NCCL."""
    tables = {"cuda": {"version": cuda}} if cuda else {}
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "sample",
            "source": {"git": "https://example.org/x.git", "ref": "v1"},
            "wheel": {"version": "1.0"},
            "target": {"machine": machine},
            "nccl": {"from": "tarball"} | nccl,
        }
        | tables
    )


def asked_for(wanted: Recipe) -> str:
    """The file."""
    (file,) = PROVIDER.questions(wanted).files
    return file.locator.rpartition("/")[2]


def test_the_archive_comes_from_the_table_and_is_trusted_on_first_use() -> None:
    """The publisher names no digest; the lock gets the one of the bytes, and what they were built with."""
    wanted = recipe(version="2.15.5")
    (file,) = PROVIDER.questions(wanted).files
    seen = Artifact(locator=file.locator, sha256=DIGEST, size=7)
    part = PROVIDER.part(wanted, Answers(files={file.locator: seen}))

    assert file.locator == "nvidia:compute/redist/nccl/v2.15.5/nccl_2.15.5-1+cuda11.8_x86_64.txz"
    assert file.sha256 == ""
    assert (part.name, part.provider, part.version) == ("nccl", "tarball", "2.15.5")
    assert part.prefix == "/torchbuild/parts/nccl"
    assert [(piece.artifact, piece.how, piece.strip) for piece in part.pieces] == [(seen, "unpack", 1)]
    assert part.says == {"cuda": "11.8"}


@pytest.mark.parametrize(
    ("cuda", "built_with"), [("12.4.1", "12.4"), ("12.6.3", "12.4"), ("12.8.1", "12.8"), ("12.1.1", "12.4")]
)
def test_the_nearest_cuda_of_the_same_major_is_taken(cuda: str, built_with: str) -> None:
    """Not above the recipe's where there is one, else the least above it."""
    assert asked_for(recipe(cuda, version="2.25.1")) == f"nccl_2.25.1-1+cuda{built_with}_x86_64.txz"


def test_the_processor_counts() -> None:
    """An archive for another one is none."""
    assert asked_for(recipe("13.0.1", "aarch64", version="2.28.9")).endswith("_aarch64.txz")


@pytest.mark.parametrize(
    ("cuda", "version", "named"),
    [
        ("13.0.1", "2.15.5", "2.15.5 for CUDA 11.8"),
        ("11.8.0", "2.99.1", "2.14.3 for CUDA 11.7"),
        ("11.8.0", None, "2.14.3 for CUDA 11.7"),
        (None, "2.15.5", "2.15.5 for CUDA 11.8"),
    ],
)
def test_a_pair_that_is_not_known_is_refused(cuda: str | None, version: str | None, named: str) -> None:
    """Those that are known are named, and the recipe's own archive is the way out."""
    with pytest.raises(ConflictError) as caught:
        PROVIDER.questions(recipe(cuda, **({"version": version} if version else {})))

    assert caught.value.reference == "nccl-tarball-unknown"
    assert named in caught.value.why[0]
    assert "nccl.archive" in caught.value.fix


def test_the_recipes_own_archive_wins() -> None:
    """Whatever the table knows."""
    wanted = recipe(version="2.99.1", archive=OWN, sha256=DIGEST)
    (file,) = PROVIDER.questions(wanted).files
    part = PROVIDER.part(wanted, Answers(files={OWN: Artifact(locator=OWN, sha256=DIGEST)}))

    assert (file.locator, file.sha256) == (OWN, DIGEST)
    assert (part.version, part.says) == ("2.99.1", {})


@pytest.mark.parametrize("row", nccl_tarballs(), ids=lambda row: row.path)
def test_each_row_can_be_asked_for(row: object) -> None:
    """By its own release of CUDA, no row is out of reach."""
    found = next(item for item in nccl_tarballs() if item == row)
    wanted = recipe(f"{found.cuda}.0", found.machine, version=found.version)

    assert asked_for(wanted) == found.path.rpartition("/")[2]
