"""The toolkit from wheels of the Python index."""

from __future__ import annotations

import tomllib

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.cuda_facts import cuda_wheels, newest_of
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import cuda_wheels as provider
from torchbuild.toolchains.provider import Answers


def recipe(version: str, machine: str = "x86_64") -> Recipe:
    """A recipe that takes that release from wheels."""
    text = f"""
schema = 1
name = "x"
[source]
git = "https://example.org/x.git"
ref = "v1"
[target]
machine = "{machine}"
[wheel]
version = "1.0"
[cuda]
version = "{version}"
from = "wheels"
"""
    return Recipe.model_validate(tomllib.loads(text))


def answers(requirements: tuple[str, ...]) -> Answers:
    """What an index would say."""
    names = [text.replace("-", "_").replace("==", "-") + "-py3-none-any.whl" for text in requirements]
    wheels = [Artifact(locator=f"pypi:{name.split('-')[0]}/{name}", sha256="0" * 64) for name in names]
    return Answers(wheels=tuple(wheels))


def test_every_part_is_of_one_release() -> None:
    """The halves of the compiler that the index's own meta package forgot are pinned to its number."""
    asked = provider.questions(recipe("13.0.2")).wheels

    assert {"nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88"} <= set(asked)
    assert all(text.count("==") == 1 and "*" not in text for text in asked)
    assert asked == tuple(sorted(asked))


def test_a_line_is_its_newest_release() -> None:
    """Whoever writes 13.0 wants its last update; the lock says which."""
    wanted = [row for row in cuda_wheels() if row.version.startswith("13.0.")][-1]
    made = provider.part(recipe("13.0"), answers(provider.questions(recipe("13.0")).wheels))

    assert made.version == wanted.version
    assert newest_of("13") == cuda_wheels()[-1]


def test_the_wheels_are_merged_into_one_prefix() -> None:
    """Each brings its part of the same directory; each program must say the number of its wheel."""
    asked = recipe("13.0.2")

    made = provider.part(asked, answers(provider.questions(asked).wheels))

    assert made.prefix == "/torchbuild/parts/cuda"
    assert {(piece.how, piece.only, piece.to) for piece in made.pieces} == {("unpack", "nvidia/cu13", "")}
    assert len(made.pieces) == len(provider.questions(asked).wheels)
    assert made.says["cicc"] == made.says["nvcc"] == "13.0.88"
    assert provider.part(asked, answers(provider.questions(asked).wheels)) == made


@pytest.mark.parametrize("version", ["11.8.0", "11.8", "12.4.1", "12.9"])
def test_releases_whose_wheels_have_no_nvcc_are_refused(version: str) -> None:
    """They hold ptxas and headers, and are called nvcc all the same; others have it."""
    with pytest.raises(ConflictError) as caught:
        provider.questions(recipe(version))

    assert caught.value.reference == "cuda-wheels-without-nvcc"
    assert "ptxas" in caught.value.why[0]
    for other in ("redist", "runfile", "apt", "system"):
        assert other in caught.value.fix


@pytest.mark.parametrize("version", ["13.0.9", "14.0", "10.2"])
def test_a_release_that_nobody_read_is_refused(version: str) -> None:
    """Those that are known are named."""
    with pytest.raises(ConflictError) as caught:
        provider.questions(recipe(version))

    assert caught.value.reference == "cuda-wheels-unknown"
    assert caught.value.why[0] == f"seen cuda.version = {version}"
    assert "13.0.2" in caught.value.why[1]


def test_another_answer_than_was_asked_for_is_ours_to_mend() -> None:
    """A wheel of another name cannot become a part."""
    with pytest.raises(ValueError, match="told of"):
        provider.part(recipe("13.0.2"), answers(("nvidia-cuda-nvcc==13.0.88",)))


def test_a_recipe_for_the_other_machine_asks_for_the_same() -> None:
    """Names and numbers are the same on both."""
    assert provider.questions(recipe("13.0.2", "aarch64")) == provider.questions(recipe("13.0.2"))
