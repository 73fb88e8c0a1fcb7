"""The toolkit out of NVIDIA's archives: exactly the components that a build needs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from torchbuild.errors import ConflictError, FetchError
from torchbuild.knowledge.redist import cuda_components
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import cuda_redist
from torchbuild.toolchains.provider import Answers, Provider

PROVIDER: Provider = cuda_redist
MORE = ("cuda_gdb", "nsight_systems", "nvidia_driver", "cuda_demo_suite")


def recipe(version: str = "12.4.1", machine: str = "x86_64") -> Recipe:
    """A recipe that asks for a release."""
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "sample",
            "source": {"git": "https://example.org/x.git", "ref": "v1"},
            "wheel": {"version": "1.0"},
            "target": {"machine": machine},
            "cuda": {"version": version, "from": "redist"},
        }
    )


def archive(name: str, platform: str) -> dict[str, str]:
    """An entry as NVIDIA writes it."""
    path = f"{name}/{platform}/{name}-{platform}-1.2.3-archive.tar.xz"
    return {"relative_path": path, "sha256": hashlib.sha256(path.encode()).hexdigest(), "size": "10"}


def document(release: str, *without: str, platforms: tuple[str, ...] = ("linux-x86_64",)) -> dict[str, Any]:
    """The document of a release, with more than is needed."""
    names = [fact.name for fact in cuda_components(release)] + list(MORE)
    whole: dict[str, Any] = {"release_date": "2024-04-03", "release_label": release}
    for name in names:
        if name not in without:
            whole[name] = {"version": "1.2.3"} | {each: archive(name, each) for each in platforms}
    return whole


def answers(release: str, whole: dict[str, Any]) -> Answers:
    """What the world says."""
    locator = f"nvidia:compute/cuda/redist/redistrib_{release}.json"
    return Answers(documents={locator: json.dumps(whole)})


def test_it_asks_for_one_document() -> None:
    """And for nothing else: the digests are in it."""
    asked = PROVIDER.questions(recipe())

    assert asked.documents == ("nvidia:compute/cuda/redist/redistrib_12.4.1.json",)
    assert (asked.wheels, asked.files) == ((), ())


@pytest.mark.parametrize("release", ["11.8.0", "12.4.1", "13.0.1"])
@pytest.mark.parametrize(("machine", "platform"), [("x86_64", "linux-x86_64"), ("aarch64", "linux-sbsa")])
def test_what_is_needed_is_taken_and_nothing_else(release: str, machine: str, platform: str) -> None:
    """Every needed component of the platform, by the publisher's digest and size, laid into one prefix."""
    whole = document(release, platforms=("linux-x86_64", "linux-sbsa", "windows-x86_64"))
    part = PROVIDER.part(recipe(release, machine), answers(release, whole))
    names = [fact.name for fact in cuda_components(release)]

    assert (part.name, part.provider, part.version, part.prefix) == (
        "cuda",
        "redist",
        release,
        "/torchbuild/parts/cuda",
    )
    assert [piece.artifact.locator.split("/")[3] for piece in part.pieces] == names
    for name, piece in zip(names, part.pieces, strict=True):
        entry = archive(name, platform)
        assert piece.artifact.locator == f"nvidia:compute/cuda/redist/{entry['relative_path']}"
        assert (piece.artifact.sha256, piece.artifact.size) == (entry["sha256"], 10)
        assert (piece.how, piece.strip, piece.only, piece.to) == ("unpack", 1, "", "")


def test_it_says_what_each_program_must_be() -> None:
    """The number of the component that brings it: 12.4.1 has an nvcc 12.4.131, which brings all programs."""
    whole = document("12.4.1")
    whole["cuda_nvcc"]["version"] = "12.4.131"
    part = PROVIDER.part(recipe(), answers("12.4.1", whole))

    programs = ["cicc", "cudafe++", "fatbinary", "nvcc", "nvlink", "ptxas"]
    assert part.says == dict.fromkeys(programs, "12.4.131")
    assert list(part.says) == programs


def test_from_13_on_the_compiler_of_the_device_is_a_component_of_its_own() -> None:
    """An nvvm of another release is then seen by the proof."""
    whole = document("13.0.1")
    whole["cuda_nvcc"]["version"] = "13.0.88"
    whole["libnvvm"]["version"] = "13.0.85"
    part = PROVIDER.part(recipe(version="13.0.1"), answers("13.0.1", whole))

    assert (part.says["nvcc"], part.says["cicc"]) == ("13.0.88", "13.0.85")


def test_the_same_answers_give_the_same_part() -> None:
    """Whatever the order of the document is."""
    whole = document("13.0.1")
    turned = dict(reversed(whole.items()))

    assert PROVIDER.part(recipe("13.0.1"), answers("13.0.1", whole)) == PROVIDER.part(
        recipe("13.0.1"), answers("13.0.1", turned)
    )


def test_an_optional_component_may_be_missing() -> None:
    """For sbsa, cuFile was not always there."""
    part = PROVIDER.part(recipe(), answers("12.4.1", document("12.4.1", "libcufile")))

    assert "libcufile" not in part.says


@pytest.mark.parametrize("name", ["cuda_nvcc", "cuda_cccl", "libcublas"])
def test_a_needed_component_that_is_absent_is_named(name: str) -> None:
    """With what the build needs it for."""
    with pytest.raises(ConflictError) as caught:
        PROVIDER.part(recipe(), answers("12.4.1", document("12.4.1", name)))

    assert caught.value.reference == "redist-component-missing"
    assert f"no {name} for linux-x86_64" in caught.value.what


def test_a_platform_without_a_component_is_named() -> None:
    """The error says for which platforms there is one."""
    with pytest.raises(ConflictError) as caught:
        PROVIDER.part(recipe(machine="aarch64"), answers("12.4.1", document("12.4.1")))

    assert "for linux-sbsa" in caught.value.what
    assert "linux-x86_64" in caught.value.why[0]


def test_hostile_documents_are_fetch_errors() -> None:
    """Who must act is whoever serves them."""
    whole = document("12.4.1")
    del whole["libcublas"]["linux-x86_64"]["sha256"]
    with pytest.raises(FetchError) as caught:
        PROVIDER.part(recipe(), answers("12.4.1", whole))

    assert "libcublas.linux-x86_64.sha256 is nothing" in caught.value.why[0]


@pytest.mark.parametrize("version", ["10.2.89", "11.0.3"])
def test_releases_that_the_table_does_not_cover_are_refused(version: str) -> None:
    """Before anything is asked, with another provider as the way out."""
    with pytest.raises(ConflictError) as caught:
        PROVIDER.questions(recipe(version))

    assert caught.value.reference == "redist-release-unknown"
    assert "runfile" in caught.value.fix


def test_a_release_without_its_last_number_is_refused_with_those_that_exist() -> None:
    """12.4 could be 12.4.0 or 12.4.1: the recipe says which."""
    with pytest.raises(ConflictError) as caught:
        PROVIDER.questions(recipe("12.4"))

    assert "12.4.0, 12.4.1" in caught.value.why[1]
