"""The second classic trap: a Python that CMake would not take, or one without NumPy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, case, host, interpreter, outcome
from torchbuild.preflight.interpreter import interpreter as look
from torchbuild.preflight.interpreter import numpy

VENV = CPU.replace('version = "3.11"', 'from = "path"\npath = "/work/venv/bin/python"\nversion = "3.11"')
"""A recipe that names a virtual environment's interpreter."""


def venv(**changed: Any) -> Any:
    """A machine with that environment."""
    fields = {"path": "/work/venv/bin/python", "is_venv": True, "found_by": "recipe"} | changed
    return host(interpreters=(interpreter(**fields), interpreter()))


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({"include": ""}, "interpreter-headers"),
        ({"version": "", "why": "No such file or directory"}, "interpreter-of-recipe"),
        ({"version": "3.12.1"}, "interpreter-of-recipe"),
        ({"machine": "aarch64"}, "interpreter-of-recipe"),
        ({"is_free_threaded": True}, "interpreter-of-recipe"),
    ],
    ids=["no Python.h", "dead link", "other release", "other machine", "other ABI"],
)
def test_a_python_that_cmake_would_not_take_fails(changed: dict[str, Any], reference: str) -> None:
    """Each way in which a virtual environment goes wrong, with what is seen and what to do."""
    item = outcome(look(case(VENV, machine=venv(**changed))), reference)

    assert (item.outcome, item.is_fatal) == ("failed", True)
    assert item.seen
    assert item.fix


def test_a_sound_environment_passes() -> None:
    """Its headers are those of the interpreter behind it."""
    assert {item.outcome for item in look(case(VENV, machine=venv()))} == {"passed"}


def test_an_interpreter_that_is_not_there_is_told_with_those_that_are() -> None:
    """One sees at once what to write instead."""
    item = outcome(look(case(CPU.replace("3.11", "3.13"))), "interpreter-of-recipe")

    assert item.outcome == "failed"
    assert "3.11.2" in item.seen
    assert item.wanted == "Python 3.13"


@pytest.mark.parametrize(
    "text", [CPU.replace("[python]", '[python]\nfrom = "uv"'), CPU + '[image]\nname = "b"\n']
)
def test_an_interpreter_from_elsewhere_is_not_looked_for_here(text: str) -> None:
    """Uv brings one by digest; an image has its own."""
    assert [item.outcome for item in look(case(text))] == ["not run"]


@pytest.mark.parametrize(("there", "wanted"), [("", "warned"), ("1.26.4", "warned"), ("2.1.0", "passed")])
def test_an_environment_without_the_right_numpy_is_told(there: str, wanted: str) -> None:
    """A build here brings its own; who builds by hand in it gets a torch without NumPy, or for the other."""
    item = outcome(numpy(case(VENV, machine=venv(numpy=there))), "numpy-for-torch")

    assert item.outcome == wanted
    assert "numpy>=2" in item.wanted


def test_a_recipe_that_asks_for_the_other_numpy_is_told() -> None:
    """A wheel made against NumPy 1 does not work with NumPy 2, and no build stops for it."""
    item = outcome(numpy(case(CPU + '[build]\nrequires = ["numpy<2"]\n')), "numpy-for-torch")

    assert item.outcome == "warned"
    assert item.seen == "numpy<2"


def test_of_several_that_the_recipe_may_mean_one_that_starts_is_taken() -> None:
    """As a lock does: a version manager's name for a release that is not active does not start."""
    shim = interpreter(path="/shims/python3.11", version="", why="not found", found_by="recipe")
    own = interpreter(found_by="recipe")

    found = look(case(CPU, machine=host(interpreters=(shim, own))))

    assert {item.outcome for item in found} == {"passed"}


def test_a_name_that_leads_nowhere_is_told_as_absent() -> None:
    """And not as something broken."""
    nowhere = interpreter(path="python3.11", version="", why="no such program in PATH", found_by="recipe")

    item = outcome(look(case(CPU, machine=host(interpreters=(nowhere,)))), "interpreter-of-recipe")

    assert (item.outcome, item.what) == ("failed", "the interpreter is not on this machine")


def test_without_a_recipe_a_dead_environment_is_a_warning() -> None:
    """No recipe asks for it."""
    dead = interpreter(version="", why="gone", found_by="VIRTUAL_ENV")

    item = outcome(look(case(machine=host(interpreters=(dead,)))), "interpreter-of-recipe")

    assert (item.outcome, item.seen) == ("warned", "gone")


def test_without_a_recipe_the_active_environment_is_looked_at() -> None:
    """The one in VIRTUAL_ENV, rather than the first in PATH."""
    here = host(interpreters=(interpreter(), interpreter(path="/v/bin/python", found_by="VIRTUAL_ENV")))

    assert "/v/bin/python" in outcome(look(case(machine=here)), "interpreter-of-recipe").what
    assert outcome(numpy(case(machine=here)), "numpy-for-torch").outcome == "warned"


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({"gone": ("-L/install/lib",)}, "interpreter-configuration"),
        ({"nccls": ("nvidia-nccl-cu12 2.21.5", "nvidia-nccl-cu13 2.27.7")}, "interpreter-two-nccl"),
    ],
)
def test_what_an_interpreter_hands_on_is_told(changed: dict[str, Any], reference: str) -> None:
    """Directories of the machine it was made on; two copies of one library in its environment."""
    assert outcome(look(case(VENV, machine=venv(**changed))), reference).outcome == "warned"
