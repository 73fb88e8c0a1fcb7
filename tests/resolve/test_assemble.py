"""Recipe and answers to lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.knowledge.fact import using
from torchbuild.knowledge.overlay import read_overlay
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import (
    Answers,
    Survey,
    build_requirements,
    lock_of,
    recipe_digest,
    verify_requirements,
)
from torchbuild.resolve.lockfile import dump_lock

Load = Callable[..., Recipe]
Answer = Callable[..., Answers]


@pytest.mark.parametrize(
    "tables",
    [
        "[machine]\njobs = 64\nindex_url = 'https://example.org/simple'",
        "[build]\ntype = 'Release'",
        "[python]\nfrom = 'system'",
        "[target]",
        "[build]\nflags = {}",
        "[verify]\nrequire = ['import-identity', 'config']",
    ],
)
def test_what_does_not_decide_the_wheel_makes_no_lock_stale(load: Load, least: str, tables: str) -> None:
    """The machine's table and values that stand at their default anyway are not in the recipe's digest."""
    assert recipe_digest(load(least + tables)) == recipe_digest(load(least))


@pytest.mark.parametrize(
    "tables",
    [
        "[build]\ntype = 'Debug'",
        "[build]\nflags = { USE_A = true }",
        "[build]\nflags = { USE_A = 1 }",
        "[build]\nenv = { A = 'b' }",
        "[target]\nglibc = '2.28'",
        "[verify]\npackages = ['numpy']",
        "[source.series]",
        "[[source.prepare]]\nargv = ['a']",
        "local = 'cpu'",
        "requires = []",
    ],
)
def test_what_decides_the_wheel_makes_a_lock_stale(load: Load, least: str, tables: str) -> None:
    """Every other change of a recipe asks for a new lock."""
    assert recipe_digest(load(least + tables)) != recipe_digest(load(least))


def test_a_lock_records_the_users_facts_that_it_was_made_with(
    load: Load, least: str, answers: Answer
) -> None:
    """A build that is repeated elsewhere can tell which of them decided; without any, nothing is recorded."""
    row = '[[floor]]\ncuda = ">=12,<13"\ndriver = "525.99"\nsource = "us"\nchecked = "unconfirmed"\n'

    with using(read_overlay({"cuda": row})):
        (line,) = lock_of(load(least), answers()).facts

    assert line.startswith("cuda.floor >=12,<13: replaced by the user's overlay, sha256 ")
    assert lock_of(load(least), answers()).facts == ()


def test_the_order_of_a_file_does_not_matter(load: Load, least: str) -> None:
    """Tables and keys may be moved about without a new lock."""
    moved = """\
name = "sample"
wheel.version = "1.0.0"
schema = 1
source = { ref = "v1", git = "https://example.org/sample.git" }
"""

    assert recipe_digest(load(moved)) == recipe_digest(load(least))


def test_a_machines_paths_are_not_in_a_lock(load: Load, least: str, answers: Answer) -> None:
    """Two machines with other jobs, mirrors and caches write the same lock."""
    machine = (
        "[machine]\njobs = 64\nindex_url = 'https://secret:token@example.org'\nmirrors = { 'a:' = 'b:' }"
    )

    assert dump_lock(lock_of(load(least + machine), answers())) == dump_lock(lock_of(load(least), answers()))
    assert "example.org/sample" in dump_lock(lock_of(load(least + machine), answers()))


def test_the_same_answers_give_the_same_bytes(load: Load, least: str, answers: Answer) -> None:
    """`torchbuild lock` twice changes nothing, in whatever order the recipe and the answers were written."""
    tables = (
        "[build]\nflags = { USE_A = 1, USE_B = true }\nenv = { A = 'a', B = 'b' }",
        "[blas]\nprovider = 'openblas'",
    )
    swapped = (
        "[blas]\nprovider = 'openblas'",
        "[build]\nenv = { B = 'b', A = 'a' }\nflags = { USE_B = true, USE_A = 1 }",
    )

    one = dump_lock(lock_of(load(least + "\n".join(tables)), answers()))

    assert dump_lock(lock_of(load(least + "\n".join(swapped)), answers())) == one


@pytest.mark.parametrize(
    ("changes", "get", "value"),
    [
        ({}, lambda lock: lock.glibc, "2.41"),
        ({}, lambda lock: lock.compiler_cache, "none"),
        ({}, lambda lock: lock.epoch, 1_700_000_000),
        (
            {},
            lambda lock: lock.unpinned,
            ("the compilers and system libraries of this machine: the recipe names no image",),
        ),
        ({"era": "scikit-build-core"}, lambda lock: lock.era, "scikit-build-core"),
    ],
)
def test_a_lock_holds_what_was_found(
    load: Load, least: str, answers: Answer, changes: dict[str, Any], get: Callable[[Any], Any], value: Any
) -> None:
    """What only the world can say is in the lock as it was said; what nobody could pin is said aloud."""
    assert get(lock_of(load(least), answers(**changes))) == value


def test_an_image_pins_the_machine(load: Load, least: str, answers: Answer) -> None:
    """In a builder image compilers and libraries are pinned with it."""
    text = least + "[python]\nversion = '3.13'\n[image]\nname = 'localhost/x'\n[target]\nglibc = '2.28'"

    lock = lock_of(load(text), answers(image={"name": "localhost/x", "id": "ab" * 32}))

    assert lock.unpinned == ()
    assert lock.image is not None
    assert lock.glibc == "2.28"


OVERLAY = "[[source.overlay]]\npath = '/usr/share/first'\nto = 'a'\n"


PLACES = """[build]
cmake = { CMAKE_PREFIX_PATH = "/opt/first;{venv}/lib", CMAKE_URL = "https://example.org/x" }
env = { CFLAGS = "-I/opt/second -O2", ROOT = "/torchbuild/source/third" }
flags = { USE_IT = "/opt/fourth" }
"""


def test_places_of_this_machine_are_said_to_be_unpinned(load: Load, least: str, answers: Answer) -> None:
    """Where variables lead out of the build nobody answers for what lies there, unless an image holds it."""
    here = lock_of(load(least + PLACES), answers())
    there = lock_of(load(f'{least}{PLACES}[python]\nversion = "3.13"\n[image]\nname = "x"\n'), answers())

    assert [line.partition(": of")[0] for line in here.unpinned[1:]] == [
        "build.flags.USE_IT: /opt/fourth",
        "build.cmake.CMAKE_PREFIX_PATH: /opt/first",
        "build.env.CFLAGS: /opt/second",
    ]
    assert there.unpinned == ()


def test_a_directory_of_this_machine_is_said_to_be_unpinned(load: Load, least: str, answers: Answer) -> None:
    """Nobody knows what it holds tomorrow; out of an image it is as exact as the image."""
    here = lock_of(load(least + OVERLAY), answers())
    there = lock_of(
        load(least + OVERLAY + "[python]\nversion = '3.13'\n[image]\nname = 'builder'"), answers()
    )

    assert [line for line in here.unpinned if "/usr/share/first" in line]
    assert there.unpinned == ()


def test_what_nobody_answers_for_is_in_the_lock(load: Load, least: str, answers: Answer) -> None:
    """In the words of whoever found it."""
    found = answers().model_copy(update={"unpinned": ("a digest that was only believed",)})

    assert lock_of(load(least), found).unpinned[-1] == "a digest that was only believed"


def test_a_launcher_is_locked_by_path(load: Load, least: str, answers: Answer, survey: Survey) -> None:
    """The compiler cache is locked as it was found, and expected by the gate."""
    found = survey.model_copy(update={"launcher": "/usr/bin/ccache"})
    lock = lock_of(load(least), answers(survey=found))

    assert lock.compiler_cache == "/usr/bin/ccache"
    assert "/usr/bin/ccache" in [item.value for item in lock.expect]


@pytest.mark.parametrize(
    ("version", "release"),
    [("2.6.0", "2.6.0"), ("2.6.0rc1", "2.6.0"), ("2.6.0.post1", "2.6.0"), ("2.6.0.dev20250101", "2.6.0")],
)
def test_the_wheel_is_expected_to_tell_its_release(
    load: Load, least: str, answers: Answer, version: str, release: str
) -> None:
    """CMake keeps the numbers of a version only, so only these can be asked of the built wheel's settings."""
    lock = lock_of(load(least.replace("1.0.0", version) + "local = 'cpu'"), answers())

    assert lock.verify.settings == {"BUILD_TYPE": "Release", "TORCH_VERSION": release}
    assert (lock.wheel.version, lock.wheel.public_version) == (f"{version}+cpu", version)


def test_the_blas_is_expected_to_be_told(load: Load, least: str, answers: Answer) -> None:
    """The wheel itself must say which BLAS it has."""
    settings = lock_of(load(least + "[blas]\nprovider = 'openblas'"), answers()).verify.settings

    assert settings["BLAS_INFO"] == settings["LAPACK_INFO"] == "open"
    assert list(settings) == sorted(settings)


@pytest.mark.parametrize(
    ("requires", "locked"), [("", None), ("requires = []", ()), ("requires = ['b', 'a']", ("a", "b"))]
)
def test_requirements_unknown_are_not_none(
    load: Load, least: str, answers: Answer, requires: str, locked: tuple[str, ...] | None
) -> None:
    """A recipe that says nothing of requirements is told apart from one that says: none."""
    assert lock_of(load(least + requires), answers()).wheel.requires == locked


def test_the_build_environment_is_asked_for_once(load: Load, least: str) -> None:
    """What the era, the tree and the recipe ask for is one sorted list."""
    recipe = load(least + "[toolchain]\ncmake = '>=3.27,<4'\n[build]\nrequires = ['numpy>=2', 'wheel']")

    wanted = build_requirements(recipe, "setup-py", ("numpy>=2", "pyyaml"))

    assert list(wanted) == sorted(set(wanted))
    assert {"pip", "cmake>=3.27,<4", "ninja>=1.13", "build", "wheel", "numpy>=2", "pyyaml"} <= set(wanted)


def test_the_verify_environment_is_the_wheels_and_the_recipes(load: Load, least: str) -> None:
    """Checks get what the wheel requires and what the recipe adds for them."""
    recipe = load(least + "requires = ['sympy', 'jinja2']\n[verify]\npackages = ['numpy', 'sympy']")

    assert verify_requirements(recipe) == ("jinja2", "numpy", "sympy")
    assert verify_requirements(load(least)) == ()


def test_both_compilers_are_locked(load: Load, least: str, answers: Answer) -> None:
    """C and C++ come from two programs, and each can be another one; a builder that says nothing locks nothing."""
    survey = answers().survey.model_copy(update={"compiler_c": "gcc 14"})

    assert lock_of(load(least), answers(survey=survey)).compiler_c == "gcc 14"
    assert lock_of(load(least), answers()).compiler_c is None


def test_a_level_that_runs_nothing_locks_no_required_check(load: Load, least: str, answers: Answer) -> None:
    """The default checks are those of the levels that run them."""
    static = lock_of(load(f'{least}[verify]\nlevel = "static"\n'), answers())

    assert static.verify.require == ()
    assert lock_of(load(least), answers()).verify.require == ("import-identity", "config")
