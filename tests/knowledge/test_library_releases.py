"""Which releases of a library are published as wheels."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from torchbuild.knowledge.fact import facts
from torchbuild.knowledge.libraries import library_wheels
from torchbuild.knowledge.library_releases import LibraryReleases, library_releases
from torchbuild.knowledge.torch_releases import OfficialBuild

ROWS = facts(LibraryReleases, "library_releases", "library")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.library}-{row.cuda}")
def test_releases_are_sorted_and_one_each(row: LibraryReleases) -> None:
    """The newest is the last; each row says where it is from."""
    versions = [Version(version) for version in row.versions]

    assert versions == sorted(set(versions))
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", row.checked)
    assert library_releases(row.library, row.cuda) == row.versions


def test_a_library_has_one_row_a_cuda_and_a_layout_for_it() -> None:
    """What is published can be laid: each row has wheels whose layout is known, from its oldest release on."""
    keys = [(row.library, row.cuda) for row in ROWS]

    assert keys == sorted(set(keys))
    for row in ROWS:
        layouts = library_wheels(row.library, row.cuda)
        assert layouts
        assert Version(layouts[0].first) <= Version(row.versions[0])


def test_of_what_is_not_published_there_is_nothing() -> None:
    """A library without wheels, or a CUDA that it has none for, has an empty list."""
    assert library_releases("magma", "12") == ()
    assert library_releases("nccl", "10") == ()
    assert library_releases("cudnn", "11")[-1] == "9.10.2.21"


def test_what_upstream_took_from_the_index_is_on_it() -> None:
    """Of builds that were read from a wheel's metadata, cuDNN and NCCL are among these."""
    builds = facts(OfficialBuild, "official_builds", "build")
    read = [row for row in builds if row.source.startswith("metadata") or "; metadata" in row.source]

    assert len(read) > 10
    for build in read:
        published = {name: library_releases(name, build.cuda.partition(".")[0]) for name in ("cudnn", "nccl")}
        assert not build.cudnn or build.cudnn in published["cudnn"]
        assert not build.nccl or build.nccl in published["nccl"]
