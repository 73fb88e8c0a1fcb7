"""`torchbuild init --like`."""

from __future__ import annotations

import shlex
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.torch_like import torch_members, write_wheel
from torchbuild.advice.like_official import official_likeness
from torchbuild.advice.recipe_text import recipe_text
from torchbuild.advice.wish import Wish
from torchbuild.cli.init_like import model_of, solved_like
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.knowledge.torch_releases import TorchLine, official_builds, torch_lines
from torchbuild.resolve.load import load_recipe
from torchbuild.resolve.weighed import weigh_recipe

from .conftest import Desk

LIKE = ("--like", "torch==2.13.0+cu126", "--machine", "x86_64")
PUBLISHERS = """\
[torch-wheels]
base = "http://127.0.0.1:9/whl/"
source = "nobody answers there"
checked = "2026-11-30"
"""


@pytest.fixture(autouse=True)
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks a publisher."""
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "publishers.toml").write_text(PUBLISHERS)
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", str(facts))


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
    assert "Not read: the wheel itself: http://127.0.0.1:9/whl/cu126/torch/: no whole answer" in told
    assert "Not read: config.show(): only the wheel has it" in told
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
def test_every_build_of_upstream_can_be_taken_for_a_model(line: TorchLine) -> None:
    """Each that the table has gives a recipe that the rules take, or says which facts forbid it."""
    for row in official_builds(line.releases[-1]):
        label = "cu" + row.cuda.replace(".", "") if row.cuda else "cpu"
        likeness = official_likeness(line.releases[-1], label, row.machine, "no network")
        assert likeness is not None
        model = model_of(likeness, () if likeness.archs or likeness.is_cpu else ("H100",))
        advice, _ = model.solved(Wish.model_validate({**model.wish, "python": "3.11"}))
        if advice.is_possible:
            text = recipe_text(model.rows(advice, "like"), model.comments(()))
            assert weigh_recipe(load_recipe("like.toml", lambda _name, text=text: text)) is not None
        else:
            assert all(len(item.facts) > 1 for item in advice.conflicts)


def test_the_command_in_the_file_makes_the_file(desk: Desk) -> None:
    """What the build says is not asked for again, so that each line keeps its reason."""
    for more in (
        (),
        ("--add-gpu", "GTX 1080", "--driver", "535"),
        ("--cpu",),
        ("--set", "nccl.version=none"),
    ):
        text = desk.run("init", *LIKE, *more, "--out", "-").out
        (line,) = [line for line in text.splitlines() if "torchbuild init" in line]
        assert text
        assert desk.run(*shlex.split(line.strip("# "))[1:], "--out", "-").out == text


@pytest.mark.parametrize(
    "more",
    [
        ("--gpu", "RTX 5090", "--driver", "580"),
        ("--add-gpu", "RTX 5090", "--driver", "580"),
        ("--gpu", "V100", "--driver", "450"),
        ("--python", "3.8"),
        ("--gpu", "RTX 5090", "--add-gpu", "H100"),
    ],
    ids=" ".join,
)
def test_every_way_out_works_as_it_is_printed(desk: Desk, more: tuple[str, ...]) -> None:
    """What a way leaves to the facts the build does not decide again: it is named in the line."""
    ran = desk.run("init", *LIKE, *more, "--glibc", "2.36", "--json")

    assert ran.code == 4
    commands = [way["command"] for way in ran.json["ways"]]
    assert commands
    for command in commands:
        assert desk.run(*shlex.split(command)[1:], "--out", "-").code == 0, command


def test_a_gpu_that_nothing_of_the_build_runs_on_gets_its_own_code(desk: Desk) -> None:
    """--gpu says what the wheel is for; --add-gpu keeps the build's architectures too."""
    ran = desk.run("init", "--like", "torch==2.13.0+cu126", "--machine", "aarch64", "--gpu", "V100",
                   "--glibc", "2.36", "--out", "r.toml")  # fmt: skip

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "r.toml")
    assert recipe.cuda is not None
    assert recipe.cuda.archs == ("7.0",)
    assert "its architectures 8.0, 9.0 are not taken: " in ran.err


def test_a_build_that_may_be_for_cuda_is_not_taken_for_one_of_the_cpu(desk: Desk) -> None:
    """Where its toolkit could not be read, somebody must say what it is for."""
    members = torch_members()
    members["torch/version.py"] = b"__version__ = '2.6.0+cu124'\ncuda = 'none of these'\n"
    wheel = write_wheel(desk.folder, members)

    ran = desk.run("init", "--like", wheel, "--out", "-")
    assert (ran.code, ran.out) == (2, "")
    assert "init-gpu-missing" in ran.err
    assert desk.run("init", "--like", wheel, "--gpu", "H100", "--out", "-").code == 0


def test_gpus_for_a_build_of_the_cpu_all_count(desk: Desk) -> None:
    """Also where some are named by one option and some by the other."""
    ran = desk.run("init", "--like", "torch==2.9.1+cpu", "--machine", "x86_64", "--gpu", "H100",
                   "--add-gpu", "A100", "--python", "3.12", "--out", "-")  # fmt: skip

    found = tomllib.loads(ran.out)
    assert found["target"]["gpus"] == ["H100", "A100"]
    assert found["cuda"]["archs"] == ["8.0", "9.0"]


def test_a_wheel_of_another_package_is_no_torch(desk: Desk) -> None:
    """Its release is not torch's, and nothing of it is a recipe."""
    other = desk.folder / "pytorch-2.6.0-py311.conda"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("numpy/__init__.py", "")
        archive.writestr("numpy-2.6.0.dist-info/METADATA", "Name: numpy\nVersion: 2.6.0\n")

    ran = desk.run("init", "--like", other, "--cpu", "--out", "-")
    assert (ran.code, ran.out) == (2, "")
    assert "error[like-not-found]" in ran.err
    assert "no torch is in it" in ran.err
