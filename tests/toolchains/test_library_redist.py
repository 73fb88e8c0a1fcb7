"""Libraries out of NVIDIA's archives: the release, the CUDA and the bytes that the recipe names, or a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import library_redist
from torchbuild.toolchains.library_redist import RedistLibrary
from torchbuild.toolchains.provider import Answers

DIGEST, OTHER = "ab" * 32, "cd" * 32
OWN = "https://mirror.example/cudnn-9.1.0.70.tar.xz"


def recipe(name: str = "cudnn", cuda: str = "12.4.1", **library: str) -> Recipe:
    """A recipe with that library."""
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "sample",
            "source": {"git": "https://example.org/x.git", "ref": "v1"},
            "wheel": {"version": "1.0"},
            "cuda": {"version": cuda},
            name: {"from": "tarball"} | library,
        }
    )


def answers(product: str, component: str, release: str, version: str, *keys: str) -> Answers:
    """The document of a release, whose archive is one, or one for each CUDA."""
    archives: Any = {"relative_path": f"{component}/all.tar.xz", "sha256": DIGEST, "size": "5"}
    if keys:
        archives = {key: archives | {"relative_path": f"{component}/{key}.tar.xz"} for key in keys}
    whole = {"release_label": release, component: {"version": version, "linux-x86_64": archives}}
    return Answers(documents={f"nvidia:compute/{product}/redist/redistrib_{release}.json": json.dumps(whole)})


@pytest.mark.parametrize(
    ("name", "component", "version", "release"),
    [
        ("cudnn", "cudnn", "9.1.0.70", "9.1.0"),
        ("cudnn", "cudnn", "9.1.0", "9.1.0"),
        ("cusparselt", "libcusparse_lt", "0.8.0.4", "0.8.0"),
        ("nvshmem", "libnvshmem", "3.4.5", "3.4.5"),
    ],
)
def test_a_release_is_its_document_and_an_archive(
    name: RedistLibrary, component: str, version: str, release: str
) -> None:
    """The archive for the recipe's CUDA, by the publisher's digest; what it must say is locked."""
    wanted = recipe(name, version=version)
    told = version if version.count(".") == 3 else f"{version}.70" if name == "cudnn" else version
    said = answers(name, component, release, told, "cuda12", "cuda13")
    asked = library_redist.questions(wanted, name)
    part = library_redist.part(wanted, said, name)

    assert set(asked.documents) == set(said.documents)
    assert (part.name, part.provider, part.version) == (name, "tarball", version)
    assert part.prefix == f"/torchbuild/parts/{name}"
    assert part.says == {component: told}
    (piece,) = part.pieces
    assert piece.artifact.locator == f"nvidia:compute/{name}/redist/{component}/cuda12.tar.xz"
    assert (piece.artifact.sha256, piece.artifact.size, piece.strip) == (DIGEST, 5, 1)


def test_older_documents_have_one_archive_for_all() -> None:
    """That of cuSPARSELt 0.6.3 asks for no CUDA."""
    said = answers("cusparselt", "libcusparse_lt", "0.6.3", "0.6.3.2")
    part = library_redist.part(recipe("cusparselt", version="0.6.3"), said, "cusparselt")

    assert part.pieces[0].artifact.name == "all.tar.xz"


def test_a_cuda_without_an_archive_is_refused() -> None:
    """With the names of those that have one."""
    said = answers("cudnn", "cudnn", "9.1.0", "9.1.0.70", "cuda11", "cuda12")
    with pytest.raises(ConflictError) as caught:
        library_redist.part(recipe(cuda="13.0.1", version="9.1.0"), said, "cudnn")

    assert caught.value.reference == "redist-variant-missing"
    assert "cuda11, cuda12" in caught.value.why[0]


def test_a_platform_without_an_archive_is_refused() -> None:
    """The recipe can name an archive instead."""
    said = answers("cudnn", "other", "9.1.0", "9.1.0.70")
    with pytest.raises(ConflictError) as caught:
        library_redist.part(recipe(version="9.1.0"), said, "cudnn")

    assert caught.value.reference == "redist-component-missing"
    assert "cudnn.archive" in caught.value.fix


def test_a_fourth_number_that_was_not_published_is_refused() -> None:
    """Both are shown."""
    said = answers("cudnn", "cudnn", "9.1.0", "9.1.0.70", "cuda12")
    with pytest.raises(ConflictError) as caught:
        library_redist.part(recipe(version="9.1.0.7"), said, "cudnn")

    assert caught.value.reference == "redist-version-differs"
    assert ("9.1.0.70" in caught.value.why[0], "9.1.0.7" in caught.value.why[1]) == (True, True)


def test_a_digest_of_the_recipe_must_be_the_publishers() -> None:
    """Neither is believed against the other: both are named."""
    said = answers("cudnn", "cudnn", "9.1.0", "9.1.0.70", "cuda12")
    same = library_redist.part(recipe(version="9.1.0", sha256=DIGEST), said, "cudnn")
    with pytest.raises(ConflictError) as caught:
        library_redist.part(recipe(version="9.1.0", sha256=OTHER), said, "cudnn")

    assert same.pieces[0].artifact.sha256 == DIGEST
    assert caught.value.reference == "redist-digest-differs"
    assert (DIGEST in caught.value.why[0], OTHER in caught.value.why[1]) == (True, True)


@pytest.mark.parametrize("sha256", [None, DIGEST])
def test_an_archive_of_the_recipe_is_taken_instead(sha256: str | None) -> None:
    """No document is asked for; without a digest the bytes are trusted on first use."""
    wanted = recipe(version="9.1.0.70", archive=OWN, **({"sha256": sha256} if sha256 else {}))
    asked = library_redist.questions(wanted, "cudnn")
    seen = Artifact(locator=OWN, sha256=DIGEST, size=9)
    part = library_redist.part(wanted, Answers(files={OWN: seen}), "cudnn")

    assert asked.documents == ()
    assert [(item.locator, item.sha256) for item in asked.files] == [(OWN, sha256 or "")]
    assert (part.version, part.pieces[0].artifact, part.says) == ("9.1.0.70", seen, {})


def test_a_library_without_a_version_is_refused() -> None:
    """The newest one is not guessed."""
    with pytest.raises(ConflictError) as caught:
        library_redist.questions(recipe(), "cudnn")

    assert caught.value.reference == "redist-release-incomplete"
    assert "cudnn.version" in caught.value.fix
