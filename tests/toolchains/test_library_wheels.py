"""Libraries out of wheels."""

from __future__ import annotations

import pytest

from tests.toolchains.library_samples import DIGEST, library, recipe
from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.toolchains.library_wheels import PROVIDERS
from torchbuild.toolchains.provider import Answers


@pytest.mark.parametrize(
    ("name", "cuda", "version", "asked", "folder"),
    [
        ("nccl", "12.4.1", "2.21.5", "nvidia-nccl-cu12==2.21.5", "nvidia/nccl"),
        ("nccl", "11.8.0", "2.21.5", "nvidia-nccl-cu11==2.21.5", "nvidia/nccl"),
        ("cudnn", "13.0.2", "9.12.0.46", "nvidia-cudnn-cu13==9.12.0.46", "nvidia/cudnn"),
        ("cusparselt", "12.4.1", "0.6.2", "nvidia-cusparselt-cu12==0.6.2", "cusparselt"),
        ("cusparselt", "12.4.1", "0.7.1", "nvidia-cusparselt-cu12==0.7.1", "nvidia/cusparselt"),
        ("cusparselt", "13.0.2", "0.8.1", "nvidia-cusparselt-cu13==0.8.1", "nvidia/cusparselt"),
        ("cusparselt", "13.0.2", "0.10.0", "nvidia-cusparselt-cu13==0.10.0", "nvidia/cu13"),
        ("nvshmem", "12.8.0", "3.3.9", "nvidia-nvshmem-cu12==3.3.9", "nvidia/nvshmem"),
        ("nccl", "12.4.1", "2.99.0", "nvidia-nccl-cu12==2.99.0", "nvidia/nccl"),
    ],
)
def test_a_library_is_the_wheel_for_the_recipes_cuda(
    name: str, cuda: str, version: str, asked: str, folder: str
) -> None:
    """The distribution, its exact release, and the folder in it that becomes the prefix."""
    wished = recipe(cuda=cuda, **{name: library(version)})
    questions = PROVIDERS[name].questions(wished)
    wheel = Artifact(locator=f"pypi:{name}/x.whl", sha256=DIGEST)

    part = PROVIDERS[name].part(wished, Answers(wheels=(wheel,)))

    assert questions.wheels == (asked,)
    assert (part.version, part.prefix, part.is_ours) == (version, f"/torchbuild/parts/{name}", True)
    assert [(piece.artifact, piece.only) for piece in part.pieces] == [(wheel, folder)]


@pytest.mark.parametrize(
    ("name", "cuda", "version", "reference"),
    [
        ("nccl", "10.2.89", "2.7.8", "library-wheel-missing"),
        ("magma", "12.4.1", "2.6.1", "library-wheel-missing"),
        ("cusparselt", "11.8.0", "0.6.2", "library-wheel-missing"),
        ("nccl", "12.4.1", "2.13.4", "library-wheel-too-old"),
        ("nccl", "12.4.1", "2.21.5-1+", "library-version-unreadable"),
    ],
)
def test_what_no_wheel_brings_is_refused(name: str, cuda: str, version: str, reference: str) -> None:
    """Before anything is asked of the index, with what was seen, what was wanted and what to do."""
    with pytest.raises(ConflictError) as caught:
        PROVIDERS[name].questions(recipe(cuda=cuda, **{name: library(version)}))

    assert caught.value.reference == reference
    assert caught.value.why
    assert caught.value.fix


@pytest.mark.parametrize(("name", "like"), [("nccl", "2.1"), ("cudnn", "8."), ("cusparselt", "0.")])
def test_who_misspells_a_release_is_shown_one_of_that_library(name: str, like: str) -> None:
    """What NCCL's look like helps nobody with cuDNN."""
    with pytest.raises(ConflictError) as caught:
        PROVIDERS[name].questions(recipe(cuda="12.4.1", **{name: library("9.1-1+")}))

    assert caught.value.why[1].startswith(f"wanted a version such as {like}")
