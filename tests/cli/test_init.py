"""`torchbuild init`."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from torchbuild.advice.of_recipe import wish_of
from torchbuild.advice.solve import solve
from torchbuild.cli.init_wish import Asked, wish_for
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.errors import HostError, UsageError
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.torch_releases import torch_lines
from torchbuild.model.host import Gpu, Host, Unseen
from torchbuild.resolve.overrides import parse_override
from torchbuild.resolve.weighed import weigh_recipe

from .conftest import Desk

PASCAL = ("--torch", "2.6", "--gpu", "GTX 1080 Ti", "--driver", "535", "--machine", "x86_64")


def host(**seen: Any) -> Host:
    """A machine that shows what is given, and nothing else."""
    required = {name: field for name, field in Host.model_fields.items() if field.is_required()}
    values: dict[str, Any] = {name: "" if field.annotation is str else () for name, field in required.items()}
    values |= dict.fromkeys(("memory", "memory_limit", "memory_available"), None)
    values |= {"cores": 1, "clock": 0.0, "has_namespaces": False, "proxies": {}, "variables": {}}
    return Host.model_validate(values | seen)


def gpu(name: str, capability: int | None) -> Gpu:
    """One GPU, as a driver tells it."""
    return Gpu(name=name, capability=capability, memory=None)


def test_a_recipe_is_written_and_its_path_printed(desk: Desk) -> None:
    """It can be locked as it is: it is read back by the same rules, and the facts agree with it."""
    ran = desk.run("init", *PASCAL, "--glibc", "2.36")

    assert (ran.code, ran.out) == (0, "torch-2.6.0-cu126-gtx-1080-ti.toml\n")
    recipe = read_recipe(Path(ran.out.strip()))
    assert recipe.cuda is not None
    assert recipe.cuda.archs == ("6.1",)
    assert recipe.target.gpus == ("GTX 1080 Ti",)
    assert recipe.source.ref == "v2.6.0"
    assert solve(wish_of(recipe)).is_possible
    assert weigh_recipe(recipe) is not None
    assert "note: driver 535 runs CUDA 12.6.3 by minor-version compatibility" in ran.err


def test_every_chosen_line_says_why(desk: Desk) -> None:
    """The reason and the fact behind it stand where the line is, with the date when somebody read it."""
    text = desk.run("init", *PASCAL, "--out", "-").out

    before = text[: text.index('archs = ["6.1"]')].splitlines()[-3:]
    assert before[0] == "# machine code for each GPU"
    assert "compute capability 6.1 [gpus.product GeForce GTX 1080 Ti, 20" in before[1]
    assert "  torchbuild init --torch 2.6 --gpu 'GTX 1080 Ti' --driver 535 --machine x86_64\n" in text
    assert not list(desk.folder.glob("torch*.toml"))


def test_the_same_question_gets_the_same_file(desk: Desk) -> None:
    """Byte for byte, so that two people can compare theirs."""
    assert desk.run("init", *PASCAL, "--out", "-").out == desk.run("init", *PASCAL, "--out", "-").out


def test_the_command_in_the_file_makes_the_file(desk: Desk) -> None:
    """Who finds the recipe later can ask again, with newer facts."""
    text = desk.run("init", *PASCAL, "--set", "verify.level=static", "--name", "mine", "--out", "-").out
    (line,) = [line for line in text.splitlines() if "torchbuild init" in line]

    assert desk.run(*shlex.split(line.strip("# "))[1:], "--out", "-").out == text


@pytest.mark.parametrize(
    "more",
    [
        ("--set", 'target.driver=">=535,<550"', "--set", "python.version=3.12"),
        ("--set", 'target={gpus=["A100"], forward_compat=true}'),
        ("--set", "nccl={version='2.21.5'}", "--set", "cudnn.version=none"),
        ("--set", "toolchain.cxx=clang++-15", "--set", "build.env.FOO=1"),
        ("--driver", ">=535,<590", "--gpu", "sm_90", "--gpu", "sm_90", "--machine", "aarch64"),
        ("--set", 'cuda.archs=["6.1", "8.0+PTX"]'),
        ("--set", "target.gpus=[]"),
        (
            "--set",
            'source.overlay=[{archive="https://x.example/a.tar.gz", sha256="%s", to="a"}]' % ("0" * 64),
        ),
    ],
    ids=lambda more: more[1],
)
def test_whatever_was_asked_the_command_in_the_file_makes_it(desk: Desk, more: tuple[str, ...]) -> None:
    """What was set stays set, with the same words in the file; nothing that was asked is lost."""
    text = desk.run("init", *PASCAL, *more, "--out", "-").out
    (line,) = [line for line in text.splitlines() if "torchbuild init" in line]

    assert text
    assert desk.run(*shlex.split(line.strip("# "))[1:], "--out", "-").out == text


def test_a_range_of_drivers_stands_as_it_was_given(desk: Desk) -> None:
    """The driver that is too new is not lost; the oldest one is what is weighed."""
    desk.run("init", "--torch", "2.6", "--gpu", "H100", "--driver", ">=535,<590", "--out", "r.toml")

    assert read_recipe(desk.folder / "r.toml").target.driver == ">=535,<590"


@pytest.mark.parametrize("line", [row.minor for row in torch_lines() if torch_python(row.minor)])
@pytest.mark.parametrize("family", ["x86_64", "aarch64"])
def test_a_wheel_for_the_cpu_can_be_had_of_each_release(desk: Desk, line: str, family: str) -> None:
    """Every known release, for both processor families, gives a recipe that the rules take."""
    ran = desk.run("init", "--torch", line, "--cpu", "--machine", family, "--out", "cpu.toml")

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "cpu.toml")
    assert recipe.cuda is None
    assert recipe.wheel.local == "cpu"
    assert recipe.target.machine == family


@pytest.mark.parametrize(
    ("torch", "gpu", "driver"),
    [
        ("1.13", "K80", "470"),
        ("2.3", "K80", "470"),
        ("2.6", "GTX 980", "470"),
        ("2.9", "GTX 980", "535"),
        ("2.9", "RTX 4090", "570"),
        ("2.11", "V100", "535"),
        ("2.14", "RTX 5090", "580"),
        ("2.14", "H100", "580"),
    ],
)
def test_what_is_written_can_work(desk: Desk, torch: str, gpu: str, driver: str) -> None:
    """Whatever is chosen, the recipe is valid, the facts do not forbid it, and asking them again chooses no other."""
    ran = desk.run(
        "init", "--torch", torch, "--gpu", gpu, "--driver", driver, "--machine", "x86_64", "--out", "r.toml"
    )

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "r.toml")
    advice = solve(wish_of(recipe))
    assert advice.is_possible
    assert recipe.cuda is not None
    assert advice.value("cuda.version") == recipe.cuda.version
    assert tuple(advice.value("cuda.archs").replace(" ", "").split(",")) == recipe.cuda.archs


def test_nothing_is_overwritten_by_chance(desk: Desk) -> None:
    """A recipe is somebody's work; only --force replaces it."""
    file = desk.folder / "mine.toml"
    file.write_text("mine")

    ran = desk.run("init", *PASCAL, "--name", "mine")
    assert ran.code == 2
    assert "recipe-exists" in ran.err
    assert file.read_text() == "mine"
    assert desk.run("init", *PASCAL, "--name", "mine", "--force").code == 0
    assert tomllib.loads(file.read_text())["name"] == "mine"


def test_no_device_and_no_pipe_becomes_a_file(desk: Desk) -> None:
    """--force replaces recipes: in the place of /dev/null a file would be everybody's trouble."""
    pipe = desk.folder / "pipe.toml"
    os.mkfifo(pipe)

    assert desk.run("init", *PASCAL, "--out", "pipe.toml", "--force").code == 6
    assert pipe.is_fifo()


def test_a_link_that_leads_nowhere_is_not_replaced_by_chance(desk: Desk) -> None:
    """It is there, though its target is not."""
    (desk.folder / "link.toml").symlink_to("nowhere.toml")

    assert "recipe-exists" in desk.run("init", *PASCAL, "--out", "link.toml").err


def test_what_a_key_breaks_is_told_of_the_option(desk: Desk) -> None:
    """No file is there that could be corrected."""
    ran = desk.run("init", "--cpu", "--set", "verify.level=never", "--out", "-")

    assert "1 problem in --set" in ran.err
    assert "Correct the options" in desk.run("init", "--cpu", "--name", "No Name").err


def test_what_cannot_be_is_refused_with_the_facts_and_the_command_lines(desk: Desk) -> None:
    """Exit code 4, both facts with their sources, and lines to copy: each of them works."""
    ran = desk.run("init", "--torch", "2.9", "--gpu", "K80", "--driver", "470", "--name", "k80")

    assert ran.code == 4
    assert "error[wish-impossible]" in ran.err
    assert "compiles for sm_37 (cuda.arch 37: " in ran.err
    assert "torch 2.9 takes CUDA" in ran.err
    lines = [line.strip() for line in ran.err.splitlines() if line.strip().startswith("torchbuild init")]
    assert lines
    for line in lines:
        assert desk.run(*shlex.split(line)[1:], "--force").code == 0, line
    assert (desk.folder / "k80.toml").is_file()


def test_a_program_gets_the_refusal_as_data(desk: Desk) -> None:
    """Conflicts with their facts, and ways with their command lines and choices."""
    ran = desk.run("init", "--torch", "2.9", "--gpu", "K80", "--driver", "470", "--json")

    value = ran.json
    assert (ran.code, value["error"]["reference"]) == (4, "wish-impossible")
    assert all(len(item["facts"]) >= 2 for item in value["conflicts"])
    assert all(way["command"].startswith("torchbuild init ") for way in value["ways"])
    assert all("cuda.version" in way["choices"] for way in value["ways"])


def test_a_program_gets_the_choices_as_data(desk: Desk) -> None:
    """The path, what was chosen and why, and the text."""
    value = desk.run("init", *PASCAL, "--json").json

    assert value["recipe"] == "torch-2.6.0-cu126-gtx-1080-ti.toml"
    assert {"cuda.version", "cuda.archs", "wheel.version"} <= {item["key"] for item in value["choices"]}
    assert Path(value["recipe"]).read_text() == value["text"]


def test_a_set_key_is_in_the_recipe_and_the_rest_goes_with_it(desk: Desk) -> None:
    """What the facts speak of is a wish of its own; all else is laid over what was chosen."""
    sets = (
        "--set",
        "cuda.version=12.4.1",
        "--set",
        "cudnn.version=9.1.0.70",
        "--set",
        "build.flags.USE_KINETO=false",
    )
    ran = desk.run("init", *PASCAL, *sets, "--set", "python.version=3.12", "--out", "r.toml")

    assert ran.code == 0, ran.err
    recipe = read_recipe(desk.folder / "r.toml")
    assert recipe.cuda is not None
    assert (recipe.cuda.version, recipe.wheel.local, recipe.python.version) == ("12.4.1", "cu124", "3.12")
    assert recipe.build.flags["USE_KINETO"] is False
    assert "USE_KINETO = false  # as --set says" in (desk.folder / "r.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "reference", "code"),
    [
        (("--cpu", "--gpu", "K80"), "init-options-contradict", 2),
        (("--glibc", "2.28", "--distro", "debian-12"), "init-options-contradict", 2),
        (("--gpu", "K80", "--add-gpu", "K40"), "init-options-contradict", 2),
        (("--gpu", "K80", "--glibc", "musl"), "init-glibc-unreadable", 2),
        (("--gpu", "K80", "--distro", "debain-12"), "distribution-unknown", 2),
        (("--gpu", "GTX 9999 XT"), "wish-impossible", 4),
        (("--gpu", "K80", "--torch", "banana"), "wish-impossible", 4),
        (("--gpu", "H100", "--driver", "newest"), "wish-impossible", 4),
        (("--cpu", "--set", "verify.level=never"), "recipe-invalid", 3),
        (("--cpu", "--set", "nonsense"), "override-invalid", 3),
        (("--cpu", "--set", "companions=[1]"), "recipe-invalid", 3),
        (("--cpu", "--torch", "2.6", "--python", "2.7"), "wish-impossible", 4),
        (("--cpu", "--name", "Not A Name"), "recipe-invalid", 3),
        (("--gpu", "H100", "--set", "cuda=1"), "recipe-invalid", 3),
        (("--gpu", "H100", "--set", "verify=nan"), "recipe-invalid", 3),
        (("--cpu", "--set", "name.x=1"), "recipe-invalid", 3),
        (("--cpu", "--set", "target.machine=riscv"), "recipe-invalid", 3),
        (("--gpu", "H100", "--set", "target.kernel_modules=closed"), "recipe-invalid", 3),
        (("--cpu", "--set", "wheel.requires=[{a=1}]"), "recipe-invalid", 3),
        (("--cpu", "--set", 'build.flags."A B"=true'), "recipe-invalid", 3),
        (("--cpu", "--set", 'target.gpus=["H100"]'), "init-options-contradict", 2),
        (("--cpu", "--set", "cuda.version=12.4"), "init-options-contradict", 2),
        (("--gpu", ""), "init-option-unreadable", 2),
        (("--gpu", "H100\n[x]"), "init-option-unreadable", 2),
        (("--gpu", "H100", "--driver", "535\nx = 1"), "init-option-unreadable", 2),
        (("--cpu", "--name", "a" * 300), "init-option-unreadable", 2),
        (("--cpu", "--out", "a" * 300), "file-operation-failed", 6),
    ],
)
def test_what_cannot_be_meant_is_an_error_of_ours(
    desk: Desk, arguments: tuple[str, ...], reference: str, code: int
) -> None:
    """Nothing is written then, and nobody is shown a traceback."""
    ran = desk.run("init", "--machine", "x86_64", *arguments)

    assert f"error[{reference}]" in ran.err
    assert ran.code == code
    assert not list(desk.folder.glob("torch*.toml"))


def test_a_distribution_stands_for_its_c_library(desk: Desk) -> None:
    """Who knows the target's system need not know its glibc."""
    text = desk.run("init", *PASCAL, "--distro", "Debian 12", "--out", "-").out

    assert tomllib.loads(text)["target"]["glibc"] == "2.36"


def test_where_no_image_fits_the_recipe_says_what_the_builder_must_be(desk: Desk) -> None:
    """A target with an old C library needs an old builder; nothing is pretended."""
    ran = desk.run("init", *PASCAL, "--glibc", "2.17", "--out", "-")

    assert "image" not in tomllib.loads(ran.out)
    assert "in an image of yours with glibc 2.17 or older" in " ".join(ran.out.replace("#", "").split())


def test_auto_takes_what_this_machine_shows() -> None:
    """The GPUs by their products where those say the chip, else by what the driver says; and the driver."""
    seen = host(
        gpus=(
            gpu("NVIDIA GeForce GTX 1080 Ti", 61),
            gpu("NVIDIA Something New", 120),
            gpu("NVIDIA GeForce GTX 1080 Ti", 61),
        ),
        driver="535.129.03",
        modules="proprietary",
    )
    wish, notes = wish_for(Asked(gpus=("auto",)), (), lambda: seen)

    assert wish.gpus == ("GeForce GTX 1080 Ti", "sm_120")
    assert (wish.driver, wish.modules) == ("535.129.03", "proprietary")
    assert any("535.129.03" in note for note in notes)


def test_the_target_is_not_this_machine_where_somebody_says_so() -> None:
    """With a GPU and a driver named, the machine is not even looked at."""

    def never() -> Host:
        raise AssertionError("the machine was looked at")

    wish, _ = wish_for(Asked(gpus=("H100",), driver=">=535"), (), never)
    assert (wish.gpus, wish.driver) == (("H100",), "535")
    assert wish_for(Asked(is_cpu=True), (), never)[0].gpus == ()
    assert wish_for(Asked(), (parse_override('cuda.archs=["9.0"]'),), never)[0].archs == ("9.0",)


def test_a_gpu_that_is_named_gets_the_machines_driver_only_where_that_is_asked_for() -> None:
    """The driver of a build machine says nothing of the target's."""
    seen = host(gpus=(gpu("NVIDIA H100", 90),), driver="580.65.06")

    assert wish_for(Asked(gpus=("A100",)), (), lambda: seen)[0].driver == ""
    assert wish_for(Asked(gpus=("A100",), driver="auto"), (), lambda: seen)[0].driver == "580.65.06"


def test_without_a_gpu_the_error_says_what_to_give() -> None:
    """And why none was seen, as the probe tells it."""
    blind = host(unseen=(Unseen(what="gpus", why="the driver's library is not there"),))

    with pytest.raises(UsageError) as missing:
        wish_for(Asked(), (), lambda: blind)
    assert missing.value.reference == "init-gpu-missing"
    assert "--cpu" in missing.value.fix
    assert missing.value.why == ("gpus: the driver's library is not there",)
    with pytest.raises(HostError) as unseen:
        wish_for(Asked(gpus=("auto",)), (), lambda: blind)
    assert unseen.value.reference == "init-gpu-not-seen"
    with pytest.raises(HostError) as driver:
        wish_for(Asked(gpus=("H100",), driver="auto"), (), lambda: blind)
    assert driver.value.reference == "init-driver-not-seen"


def test_without_a_release_the_newest_is_taken() -> None:
    """The newest that somebody read the facts of; what is only announced must be asked for."""
    read = [row for row in torch_lines() if row.checked != "unconfirmed"]

    assert wish_for(Asked(is_cpu=True), (), host)[0].torch == read[-1].releases[-1]


def test_a_release_whose_python_nobody_knows_needs_one(desk: Desk) -> None:
    """Nothing is guessed: with a Python that is named the recipe is written."""
    unknown = [row.minor for row in torch_lines() if torch_python(row.minor) is None]
    for line in unknown:
        ran = desk.run("init", "--torch", line, "--cpu")
        assert (ran.code, "init-python-unknown" in ran.err) == (2, True)
        assert desk.run("init", "--torch", line, "--cpu", "--python", "3.13").code == 0
