"""Switches that count only while others are on."""

from __future__ import annotations

import pytest

from torchbuild.errors import ConflictError
from torchbuild.resolve.switches import Wishes, parents


@pytest.mark.parametrize(
    ("switches", "needed"),
    [
        ({"USE_SYSTEM_NCCL": ("ON", "me")}, {"USE_NCCL", "USE_CUDA"}),
        ({"USE_NCCL": ("ON", "me")}, {"USE_CUDA"}),
        ({"USE_C10D_MPI": ("ON", "me")}, {"USE_MPI", "USE_DISTRIBUTED"}),
        ({"USE_SYSTEM_NCCL": ("ON", "me"), "USE_CUDA": ("ON", "me")}, {"USE_NCCL"}),
        ({"USE_SYSTEM_NCCL": ("OFF", "me"), "USE_CUDA": ("OFF", "me")}, set()),
        ({"USE_NUMPY": ("ON", "me"), "USE_OF_OURS": ("ON", "me")}, set()),
        ({}, set()),
    ],
)
def test_to_ask_for_one_is_to_ask_for_what_it_needs(switches: Wishes, needed: set[str]) -> None:
    """A switch whose condition is lost stays in the cache as asked: so its conditions are asked for too."""
    assert set(parents(switches)) == needed


def test_who_needs_it_is_told() -> None:
    """A value that nobody wrote down is explained by the one that was."""
    assert parents({"USE_GLOO": ("ON", "build.flags.USE_GLOO")}) == {
        "USE_DISTRIBUTED": ("ON", "USE_GLOO needs it")
    }


def test_what_cannot_be_is_refused_at_once() -> None:
    """A switch that is on while what it needs is off is a contradiction of the recipe, found before any build."""
    switches: Wishes = {
        "USE_CUDA": ("OFF", "build.preset minimal"),
        "USE_SYSTEM_NCCL": ("ON", "build.flags.USE_SYSTEM_NCCL"),
        "USE_CUDNN": ("ON", "build.flags.USE_CUDNN"),
    }

    with pytest.raises(ConflictError) as caught:
        parents(switches)

    assert caught.value.reference == "switch-needs-another"
    assert caught.value.why == (
        "USE_CUDNN is on (build.flags.USE_CUDNN) and needs USE_CUDA, which is off (build.preset minimal)",
        "USE_SYSTEM_NCCL is on (build.flags.USE_SYSTEM_NCCL) and needs USE_CUDA, which is off (build.preset minimal)",
    )


def test_the_order_does_not_matter() -> None:
    """The same wishes in another order need the same."""
    names = ["USE_SYSTEM_NCCL", "USE_CUDNN", "USE_C10D_GLOO", "BUILD_LAZY_CUDA_LINALG"]
    forward: Wishes = dict.fromkeys(names, ("ON", "me"))
    backward: Wishes = dict.fromkeys(reversed(names), ("ON", "me"))

    assert list(parents(forward).items()) == list(parents(backward).items())
