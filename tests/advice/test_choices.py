"""The lines of a recipe, each with its reason and its facts."""

from __future__ import annotations

from torchbuild.advice.choices import release_of
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish

WISH = Wish(torch="2.6", gpus=("A100", "RTX 3090"), driver="550", glibc="2.36", python="3.11")


def test_a_line_means_its_newest_release() -> None:
    """2.5 is 2.5.1; what is written with a patch, or is not known, stays."""
    assert [release_of(item) for item in ("2.5", "2.5.0", "9.9", "2.5.1+own")] == [
        "2.5.1",
        "2.5.0",
        "9.9",
        "2.5.1+own",
    ]


def test_every_line_says_why_and_by_what() -> None:
    """Nobody has to believe a line: it has a reason, and a fact with a source or the wish behind it."""
    choices = solve(WISH).choices
    keys = [item.key for item in choices]
    assert keys[:2] == ["target.glibc", "python.version"]
    assert {"cuda.version", "cuda.archs", "cudnn.version", "nccl.version", "wheel.version"} <= set(keys)
    assert len(keys) == len(set(keys))
    assert all(item.why and item.facts for item in choices)
    assert all(fact.source or fact.table == "wish" for item in choices for fact in item.facts)


def test_each_chip_has_its_own_code_once() -> None:
    """Two products of one chip are one architecture, and the list is in order."""
    twice = WISH.model_copy(update={"gpus": ("RTX 3090", "A100", "RTX 3080", "A100-SXM4-40GB")})
    assert solve(twice).value("cuda.archs") == "8.0, 8.6"


def test_ptx_is_not_made_of_what_runs_on_one_chip_only() -> None:
    """PTX of sm_90a would run nowhere else."""
    new = Wish(torch="2.9", gpus=("sm_90a",), driver="620")
    assert solve(new).value("cuda.archs") == "9.0a"
    assert solve(new.model_copy(update={"gpus": ("H100",)})).value("cuda.archs") == "9.0+PTX"
