"""Recipes out of texts, and the answers of a world that is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, Survey
from torchbuild.resolve.load import load_recipe

DIGEST = "ab" * 32
LEAST = """\
schema = 1
name = "sample"

[source]
git = "https://example.org/sample.git"
ref = "v1"

[wheel]
version = "1.0.0"
"""

Load = Callable[..., Recipe]
Refused = Callable[..., RecipeError]


@pytest.fixture
def least() -> str:
    """The least that is a recipe; more tables can be put behind it."""
    return LEAST


@pytest.fixture
def load() -> Load:
    """Load ``recipe.toml`` out of a text, or of several files by name; further arguments are ``--set``."""

    def read(files: dict[str, str]) -> Callable[[str], str]:
        def text(path: str) -> str:
            if path not in files:
                raise RecipeError("recipe-unreadable", f"{path} cannot be read", fix="Name a file.")
            return files[path]

        return text

    def recipe(files: str | dict[str, str], *overrides: str) -> Recipe:
        named = {"recipe.toml": files} if isinstance(files, str) else files
        return load_recipe("recipe.toml", read(named), overrides=overrides)

    return recipe


@pytest.fixture
def refused(load: Load) -> Refused:
    """Load what must not load, and return the error."""

    def error(files: str | dict[str, str], *overrides: str) -> RecipeError:
        with pytest.raises(RecipeError) as caught:
            load(files, *overrides)
        return caught.value

    return error


@pytest.fixture
def problem(refused: Refused) -> Callable[..., Problem]:
    """Load what has one problem, and return it."""

    def only(files: str | dict[str, str], *overrides: str) -> Problem:
        error = refused(files, *overrides)
        assert error.reference == "recipe-invalid", error
        assert len(error.problems) == 1, error.problems
        return error.problems[0]

    return only


@pytest.fixture
def survey() -> Survey:
    """A builder."""
    return Survey.model_validate(
        {
            "python": {
                "executable": "/usr/bin/python3.13",
                "version": "3.13.5",
                "soabi": "cpython-313-x86_64-linux-gnu",
                "tag": "cp313",
                "include": "/usr/include/python3.13",
            },
            "glibc": "2.41",
            "cc": "/usr/bin/gcc",
            "cxx": "/usr/bin/g++",
            "compiler": "g++ (Debian 14.2.0-19) 14.2.0",
            "launcher": "",
        }
    )


@pytest.fixture
def answers(survey: Survey) -> Callable[..., Answers]:
    """What the world says, with some of it changed."""
    values: dict[str, Any] = {
        "source": {"kind": "git", "url": "https://example.org/sample.git", "ref": "v1", "commit": "cd" * 20},
        "epoch": 1_700_000_000,
        "era": "setup-py",
        "image": None,
        "survey": survey,
        "build_requires": (
            {"locator": "pypi:ninja/ninja-1.13.2-py3-none-any.whl", "sha256": DIGEST, "size": 1},
            {"locator": "pypi:pip/pip-26.3-py3-none-any.whl", "sha256": "cd" * 32},
        ),
        "run_requires": (),
        "verify_requires": (),
    }
    return lambda **changes: Answers.model_validate(values | changes)
