"""The OpenMP runtime of a recipe: where it is from, and what proves that it is the one and only."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.model.frozen import frozen_value
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import openmp_builder, openmp_wheels
from torchbuild.toolchains.openmp_proof import CHECKS, program_of, runtimes
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.provider import Answers

LEAST = """\
schema = 1
name = "sample"
source = { git = "https://example.org/sample.git", ref = "v1" }
wheel = { version = "2.6.0" }
"""
WHEEL = "pypi:intel-openmp/intel_openmp-2026.2.0-py2.py3-none-manylinux_2_28_x86_64.whl"
OURS = "/torchbuild/parts/openmp/lib/libiomp5.so"
GOMP = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"


def _recipe(tables: str) -> Recipe:
    return Recipe.model_validate(frozen_value(tomllib.loads(LEAST + tables)))


IOMP = _recipe("[openmp]\nprovider = 'iomp'\nfrom = 'wheels'\n")
IOMP_PART = openmp_wheels.part(IOMP, Answers(wheels=(Artifact(locator=WHEEL, sha256="ab" * 32),)))
GOMP_PART = openmp_builder.part(_recipe("[openmp]\nprovider = 'gomp'\n"), Answers())
NONE_PART = openmp_builder.part(_recipe("[openmp]\nprovider = 'none'\n"), Answers())


def _program(path: str, *more: str, **values: str) -> dict[str, Any]:
    said = {"openmp_threads": "2", "openmp_sum": "500500", "openmp_from": path, **values}
    return {"error": "", "values": said, "maps": [path, "/usr/lib/libc.so.6", *more]}


def _outcomes(part: Any, program: object, **more: object) -> dict[str, str]:
    seen = {"openmp": program, "completed": {"missing": []}, **more}
    return {item.reference: item.outcome for item in judge(CHECKS, part, Wanted(), seen)}


def test_intels_runtime_is_one_wheel() -> None:
    """Of it the libraries alone; the header is the compiler's."""
    assert openmp_wheels.questions(IOMP).wheels == ("intel-openmp",)
    assert (IOMP_PART.version, IOMP_PART.pieces[0].only) == (
        "2026.2.0",
        "intel_openmp-2026.2.0.data/data/lib",
    )


def test_a_runtime_of_the_builder_is_only_looked_at() -> None:
    """The compiler's own, or a prefix."""
    named = _recipe("[openmp]\nprovider = 'iomp'\nfrom = 'path'\npath = '/opt/intel/'\n")

    assert openmp_builder.questions(named) == openmp_builder.questions(_recipe(""))
    assert (GOMP_PART.prefix, GOMP_PART.is_ours, GOMP_PART.says) == ("/usr", False, {"openmp": "gomp"})
    assert openmp_builder.part(named, Answers()).prefix == "/opt/intel"


@pytest.mark.parametrize(
    ("tables", "reference"),
    [
        ("[openmp]\nprovider = 'gomp'\nfrom = 'wheels'\n", "openmp-not-as-wheels"),
        ("[openmp]\nprovider = 'none'\nfrom = 'wheels'\n", "openmp-not-as-wheels"),
        (
            "[openmp]\nprovider = 'iomp'\nfrom = 'wheels'\n[target]\nmachine = 'aarch64'\n",
            "openmp-not-as-wheels",
        ),
        ("[openmp]\nprovider = 'none'\n[build]\nflags = { USE_OPENMP = true }\n", "openmp-flag-contradicts"),
        ("[openmp]\n[build]\nflags = { USE_OPENMP = 0 }\n", "openmp-flag-contradicts"),
        ("[openmp]\n[toolchain]\ncxx = '/usr/bin/clang++-19'\n", "openmp-not-of-compiler"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fetched(tables: str, reference: str) -> None:
    """Two keys that mean different runtimes are no recipe."""
    with pytest.raises(ConflictError) as caught:
        openmp_wheels.questions(_recipe(tables))

    assert caught.value.reference == reference


def test_a_runtime_that_works_passes() -> None:
    """Ours, the compiler's, and none."""
    assert set(_outcomes(IOMP_PART, _program(OURS)).values()) == {"passed", "not run"}
    assert _outcomes(IOMP_PART, _program(OURS))["openmp-version"] == "not run"
    assert set(_outcomes(GOMP_PART, _program(GOMP)).values()) == {"passed"}
    assert _outcomes(NONE_PART, None) == {"openmp-program": "not run"}


@pytest.mark.parametrize(
    ("program", "reference"),
    [
        (_program(GOMP), "openmp-runtime"),
        (_program("/opt/other/libiomp5.so"), "openmp-runtime"),
        (_program("/torchbuild/parts/openmp-2/lib/libiomp5.so"), "openmp-runtime"),
        (_program(OURS, GOMP), "openmp-one"),
        (_program(OURS, "/usr/lib/llvm/libomp.so.5"), "openmp-one"),
        (_program(OURS, openmp_threads="1"), "openmp-threads"),
        (_program(OURS, openmp_sum="7"), "openmp-threads"),
        ({"error": "ld: cannot find -lomp"}, "openmp-program"),
        (None, "openmp-program"),
        ("nonsense", "openmp-program"),
    ],
)
def test_a_runtime_that_does_not_is_refused(program: object, reference: str) -> None:
    """Another file than was locked, a second runtime, a stub."""
    assert _outcomes(IOMP_PART, program)[reference] == "failed"


def test_names_that_nobody_made_are_not_passed() -> None:
    """Without the second name of the runtime trees take the compiler's."""
    seen = {"completed": None}

    assert _outcomes(IOMP_PART, _program(OURS), **seen)["openmp-links"] == "not run"
    assert _outcomes(IOMP_PART, _program(OURS), completed={"missing": ["x"]})["openmp-links"] == "failed"


def test_copies_of_a_runtime_are_told_apart_from_what_is_called_alike() -> None:
    """A bundler's copy counts; debugging tools and offloading do not."""
    maps = [
        "/a/libgomp-a34b3233.so.1",
        "/a/libomptarget.so",
        "/a/libiomp5_db.so",
        "/a/libgomp-plugin-nvptx.so.1",
    ]

    assert runtimes(program_of({"x": {"maps": maps}}, "x")) == ("/a/libgomp-a34b3233.so.1",)
    assert runtimes(program_of({"x": {"maps": 3, "values": 4}}, "x")) == ()
