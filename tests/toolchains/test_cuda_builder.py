"""The toolkit that the builder has."""

from __future__ import annotations

import tomllib

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import cuda_builder as provider
from torchbuild.toolchains.cuda_builder import survey_request, surveyed
from torchbuild.toolchains.provider import Answers, Questions

SEEN = {
    "real": "/usr",
    "nvcc": {"path": "/usr/bin/nvcc", "starts": True, "release": "12.4", "build": "12.4.131"},
}


def recipe(source: str, version: str = "12.4", path: str = "") -> Recipe:
    """A recipe that takes the builder's."""
    text = f"""
schema = 1
name = "x"
[source]
git = "https://example.org/x.git"
ref = "v1"
[wheel]
version = "1.0"
[cuda]
version = "{version}"
from = "{source}"
{f'path = "{path}"' if path else ""}
"""
    return Recipe.model_validate(tomllib.loads(text))


def test_the_distribution_s_toolkit_is_found_under_usr() -> None:
    """Nothing is fetched; where it is and what it says goes into the lock."""
    asked = recipe("apt", "12.4.1")

    assert provider.questions(asked) == Questions()
    assert survey_request(asked, "/tmp/x") == {"prefix": "/usr", "scratch": "/tmp/x", "brief": True}

    made = provider.part(asked, Answers(builder=surveyed(SEEN)))

    assert (made.provider, made.prefix, made.pieces, made.is_ours) == ("apt", "/usr", (), False)
    assert (made.version, made.says) == ("12.4.1", {"nvcc": "12.4.131"})


def test_a_link_becomes_the_directory_behind_it() -> None:
    """Two names of one toolkit are two toolkits to CMake."""
    builder = surveyed(SEEN | {"real": "/usr/local/cuda-12.4"})

    made = provider.part(recipe("system", path="/usr/local/cuda"), Answers(builder=builder))

    assert made.prefix == "/usr/local/cuda-12.4"


def test_a_directory_must_be_named() -> None:
    """It cannot be guessed; the rules of a recipe refuse it first, so here it is a mistake of ours."""
    with pytest.raises(ValueError, match="without a path"):
        provider.questions(recipe("system"))


@pytest.mark.parametrize(
    "seen", [{}, {"real": "/usr", "nvcc": {"path": ""}}, {"real": "/usr", "nvcc": {"path": "/usr/bin/nvcc"}}]
)
@pytest.mark.parametrize(("source", "fix"), [("apt", "nvidia-cuda-toolkit"), ("system", "cuda.path")])
def test_a_builder_without_one_is_told_at_once(seen: dict[str, object], source: str, fix: str) -> None:
    """Missing, or there and not to be started: before anything is built."""
    with pytest.raises(ConflictError) as caught:
        provider.part(recipe(source, path="/opt/cuda/"), Answers(builder=surveyed(seen)))

    assert caught.value.reference == "cuda-not-in-builder"
    assert "/opt/cuda/bin/nvcc" in caught.value.why[0]
    assert fix in caught.value.fix


@pytest.mark.parametrize("version", ["12.6", "11.8.0", "13.0"])
def test_another_release_is_told_at_once(version: str) -> None:
    """A toolkit of the builder is what it is."""
    with pytest.raises(ConflictError) as caught:
        provider.part(recipe("apt", version), Answers(builder=surveyed(SEEN)))

    assert caught.value.reference == "cuda-builder-differs"
    assert "12.4" in caught.value.why[0]
    assert version in caught.value.why[0]
