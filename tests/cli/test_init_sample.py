"""Whatever `torchbuild init` is asked: what it writes can be locked, and where it refuses, its ways out work."""

from __future__ import annotations

import shlex

import pytest

from tests.preflight.stand_ins import host
from torchbuild.advice.of_recipe import wish_of
from torchbuild.advice.solve import solve
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.knowledge.torch_releases import torch_lines
from torchbuild.preflight.case import Case
from torchbuild.preflight.checks import exit_code, preflights
from torchbuild.resolve.weighed import weigh_recipe

from .conftest import Desk

GPUS = ("K80", "V100", "GTX 1080 Ti", "A100", "RTX 4090", "H100", "RTX 5090", "B300", "Jetson AGX Orin")
DRIVERS = ("", "450", "470", "525", "535", "550", "565", "570", "580", "590")
IMPOSSIBLE = 4


def drivers(row: int, column: int) -> tuple[str, str]:
    """Two of them, so that neighbours have others and every GPU meets all of them."""
    at = row * 3 + column * 7
    return DRIVERS[at % len(DRIVERS)], DRIVERS[(at + 5) % len(DRIVERS)]


@pytest.mark.parametrize(("column", "gpu"), tuple(enumerate(GPUS)), ids=GPUS)
def test_what_is_written_can_be_locked_and_what_is_refused_has_ways_out(
    desk: Desk, column: int, gpu: str
) -> None:
    """Of each release with each driver: a recipe that rules, facts and `doctor` agree with, or exit code 4."""
    lines, outcomes = torch_lines(), []
    family = "aarch64" if "Jetson" in gpu else "x86_64"
    for row, line in enumerate(lines):
        for driver in drivers(row, column):
            asked = ("--torch", line.minor, "--gpu", gpu, "--machine", family, *_driver(driver))
            ran = desk.run("init", *asked, "--out", "r.toml", "--force")
            outcomes.append(ran.code)
            assert ran.code in (0, IMPOSSIBLE), (asked, ran.err)
            if ran.code == 0:
                _judge(desk)
            else:
                assert "error[wish-impossible]" in ran.err
    assert 0 in outcomes


@pytest.mark.parametrize(
    "asked",
    [
        ("--torch", "2.9", "--gpu", "K80", "--driver", "470"),
        ("--torch", "2.11", "--gpu", "V100", "--driver", ">=590,<600"),
        ("--torch", "2.6", "--gpu", "H100", "--set", "cuda.version=11.8.0", "--set", "toolchain.cxx=g++-13"),
        ("--torch", "2.9", "--set", 'target={gpus=["K80"], driver="470"}', "--name", "k80"),
        ("--torch", "2.6", "--gpu", "H100", "--driver", "580", "--set", "python.version=2.7"),
    ],
    ids=lambda asked: " ".join(asked[2:]),
)
def test_every_way_out_works_as_it_is_printed(desk: Desk, asked: tuple[str, ...]) -> None:
    """What was set stays set, but for what the way changes."""
    ran = desk.run("init", *asked, "--machine", "x86_64", "--json")

    assert ran.code == IMPOSSIBLE
    commands = [way["command"] for way in ran.json["ways"]]
    assert commands
    for command in commands:
        assert desk.run(*shlex.split(command)[1:], "--out", "-").code == 0, command


def _driver(driver: str) -> tuple[str, ...]:
    return ("--driver", driver) if driver else ()


def _judge(desk: Desk) -> None:
    recipe = read_recipe(desk.folder / "r.toml")
    weigh_recipe(recipe)
    found = preflights(Case(host=host(), recipe=recipe, advice=solve(wish_of(recipe))))
    assert exit_code(found) != IMPOSSIBLE, [item for rows in found.values() for item in rows]
