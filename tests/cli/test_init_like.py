"""`torchbuild init --like`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from torchbuild.advice.wish import Wish
from torchbuild.cli.init_like import likeness_called, solved_like
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.errors import UsageError
from torchbuild.knowledge.torch_releases import official_builds, torch_lines
from torchbuild.resolve.weighed import weigh_recipe

from .conftest import Desk

LIKE = ("--like", "torch==2.13.0+cu126", "--machine", "x86_64")


def test_the_official_wheel_with_my_card(desk: Desk) -> None:
    """Its toolkit, its libraries and its architectures, and the card's own besides."""
    ran = desk.run(
        "init", *LIKE, "--add-gpu", "GTX 1080", "--driver", "535", "--glibc", "2.36", "--out", "r.toml"
    )

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "r.toml")
    (row,) = (item for item in official_builds("2.13.0") if item.cuda == "12.6")
    assert recipe.cuda is not None
    assert recipe.cuda.version.startswith("12.6.")
    assert set(recipe.cuda.archs) == {*row.archs, "6.1"}
    assert recipe.cudnn is not None
    assert recipe.cudnn.version == row.cudnn
    assert (recipe.wheel.version, recipe.wheel.local) == ("2.13.0", "cu126")
    assert recipe.target.gpus == ("GTX 1080",)
    assert weigh_recipe(recipe) is not None


def test_what_could_not_be_read_is_said_in_the_file(desk: Desk) -> None:
    """Nothing is filled in without a word."""
    text = desk.run("init", *LIKE, "--glibc", "2.36", "--out", "-").out

    told = " ".join(text.replace("#", "").split())
    assert "Not read: switches, BLAS, OpenMP and what is bundled" in told
    assert "6.1" not in tomllib.loads(text)["cuda"]["archs"]


def test_a_library_that_does_not_serve_every_chip_gives_way(desk: Desk) -> None:
    """Upstream's wheel has code for a chip that its own NCCL has none for; ours does not, and says so."""
    ran = desk.run("init", *LIKE, "--glibc", "2.36", "--out", "r.toml")

    (row,) = (item for item in official_builds("2.13.0") if item.cuda == "12.6")
    recipe = read_recipe(desk.folder / "r.toml")
    assert recipe.nccl is not None
    assert recipe.nccl.version != row.nccl
    assert f"its nccl {row.nccl} is not taken" in ran.err


def test_what_an_option_asks_for_gives_way_to_nothing() -> None:
    """Only what came from the wheel does."""
    wish = Wish(torch="2.13.0", cuda="12.6.3", archs=("5.0",), nccl="2.29.3")

    assert not solved_like(wish, {"cuda": "12.6.3", "archs": ("5.0",)})[0].is_possible
    advice, told = solved_like(wish, {"nccl": "2.29.3"})
    assert advice.is_possible
    assert told[0].startswith("its nccl 2.29.3 is not taken: ")


def test_an_option_wins_over_the_wheel(desk: Desk) -> None:
    """With another toolkit its libraries are chosen anew, and so is the label."""
    ran = desk.run(
        "init", *LIKE, "--cuda", "12.8", "--set", 'cuda.archs=["9.0"]', "--glibc", "2.36", "--out", "r.toml"
    )

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "r.toml")
    assert recipe.cuda is not None
    assert recipe.cuda.version.startswith("12.8")
    assert recipe.cuda.archs == ("9.0",)
    assert recipe.wheel.local == "cu128"


def test_a_wheel_for_the_cpu_needs_no_gpu(desk: Desk) -> None:
    """And this machine is not asked for one; with one that is added it is a wheel for CUDA."""
    cpu = ("--like", "torch==2.9.1+cpu", "--machine", "x86_64", "--glibc", "2.36", "--out", "-")

    assert "cuda" not in tomllib.loads(desk.run("init", *cpu).out)
    added = tomllib.loads(desk.run("init", *cpu, "--add-gpu", "GTX 1080", "--driver", "535").out)
    assert added["cuda"]["archs"] == ["6.1"]
    assert added["wheel"]["local"].startswith("cu12")


@pytest.mark.parametrize("line", [row for row in torch_lines() if row.releases], ids=lambda row: row.minor)
def test_every_build_of_upstream_can_be_taken_for_a_model(desk: Desk, line: object) -> None:
    """Each that the table has gives a recipe that the rules take, or says which facts forbid it."""
    release = line.releases[-1]  # type: ignore[attr-defined]
    for row in official_builds(release):
        label = "cu" + row.cuda.replace(".", "") if row.cuda else "cpu"
        name = f"torch=={release}+{label}"
        ran = desk.run("init", "--like", name, "--machine", "x86_64", "--python", "3.12", "--out", "-")
        if ran.code:
            assert "wish-impossible" in ran.err or "init-gpu-missing" in ran.err, (name, ran.err)


@pytest.mark.parametrize(
    "text", ["torch==2.9.1", "torch==2.9.1+cu999", "torch==99.0+cpu", "nowhere.whl", "\0", ""]
)
def test_what_is_no_build_is_told_with_those_that_are(text: str) -> None:
    """A release alone does not say which of its builds is meant."""
    with pytest.raises(UsageError) as caught:
        likeness_called(text or "nothing", "x86_64")

    assert caught.value.reference == "like-unknown"
    if text.startswith("torch==2.9.1"):
        assert "torch==2.9.1+cu126" in caught.value.why[0]


def test_an_environment_without_torch_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """INSTALLED is the environment that is active."""
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))

    with pytest.raises(UsageError) as caught:
        likeness_called("INSTALLED", "x86_64")
    assert caught.value.reference == "like-not-found"
