"""Engines, namespaces and the machine's family."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, case, host, outcome, recipe
from torchbuild.model.host import Engine
from torchbuild.preflight.engine import engine, gpu_runtime, machine_family, namespaces

IMAGE = CPU + '[image]\nname = "builder"\n'


def answering(name: str, *, works: bool = True, runtime: str = "") -> Engine:
    """An engine."""
    return Engine(name=name, version="5.0" if works else "", works=works, why="" if works else "no daemon",
                  gpu_runtime=runtime)  # fmt: skip


@pytest.mark.parametrize(
    ("engines", "wanted"),
    [
        ((answering("podman"),), "passed"),
        ((answering("podman", works=False), answering("docker")), "passed"),
        ((answering("podman", works=False),), "failed"),
        ((answering("rootfs"),), "failed"),
        ((), "failed"),
    ],
)
def test_an_image_needs_an_engine_that_answers(engines: Any, wanted: str) -> None:
    """Installed is not enough; why one does not answer is its own word."""
    item = outcome(engine(case(IMAGE, machine=host(engines=engines))), "engine-answers")

    assert item.outcome == wanted


def test_a_recipe_without_an_image_needs_none() -> None:
    """It is built on this machine."""
    assert not list(engine(case(CPU, machine=host(engines=()))))


def test_the_engine_that_the_recipe_names_must_answer() -> None:
    """Another one is not taken for it."""
    text = IMAGE + '[machine]\nengine = "docker"\n'

    item = outcome(engine(case(text, machine=host(engines=(answering("podman"),)))), "engine-answers")

    assert item.outcome == "failed"
    assert item.fix == "Make docker answer, or change machine.engine."


def test_without_namespaces_a_build_here_is_warned() -> None:
    """A filter of the kernel may still keep it from the network; the build itself decides."""
    assert (
        outcome(namespaces(case(CPU, machine=host(has_namespaces=False))), "namespaces-here").outcome
        == "warned"
    )
    assert outcome(namespaces(case(CPU)), "namespaces-here").outcome == "passed"
    assert not list(namespaces(case(IMAGE)))


def test_a_wheel_for_another_family_is_not_built_here() -> None:
    """Nothing crosses."""
    item = outcome(machine_family(case(CPU, machine=host(machine="aarch64"))), "machine-family")

    assert (item.outcome, item.seen, item.wanted) == ("failed", "aarch64", "x86_64")


@pytest.mark.parametrize(("runtime", "wanted"), [("cdi", "passed"), ("", "failed")])
def test_a_wheel_that_runs_on_a_gpu_in_a_container_needs_it_handed_in(runtime: str, wanted: str) -> None:
    """Else it ends with a word about a device driver with capabilities gpu."""
    plain = recipe(IMAGE)
    asked = plain.model_copy(update={"verify": plain.verify.model_copy(update={"level": "gpu"})})
    machine = host(engines=(answering("podman", runtime=runtime),))

    assert outcome(gpu_runtime(case(recipe=asked, machine=machine)), "engine-without-gpus").outcome == wanted
