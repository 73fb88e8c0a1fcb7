"""Facts: each with its source, and agreeing with one another and with the model."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any, get_args

import pytest
from packaging.specifiers import SpecifierSet

from torchbuild.knowledge.tables import (
    blas_fact,
    era_fact,
    era_of_backend,
    official_cuda,
    option_facts,
    preset,
    switch_fact,
    switch_needs,
)
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Build, Recipe
from torchbuild.model.recipe_toolchain import Blas

SWITCH = re.compile(r"(USE|BUILD)_[A-Z0-9_]+")


def _rows(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _named_rows(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Each row of a table; one of several under one name is told by its number."""
    found = []
    for key, value in _rows(name).items():
        several = value if isinstance(value, list) else [value]
        found += [(f"{key}-{number}" if len(several) > 1 else key, row) for number, row in enumerate(several)]
    return found


TABLES = ("blas", "cmake_variables", "eras", "late_sources", "options", "presets", "switches")
ROWS = [(name, key, row) for name in TABLES for key, row in _named_rows(name)]


@pytest.mark.parametrize(("name", "key", "row"), ROWS, ids=[f"{name}-{key}" for name, key, _ in ROWS])
def test_every_fact_says_where_it_is_from(name: str, key: str, row: dict[str, Any]) -> None:
    """No row without its source and the day on which it was read."""
    assert len(row["source"]) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row["checked"])


def test_what_the_model_offers_has_its_facts() -> None:
    """Each era, preset and BLAS that a recipe or lock may name, and that is acted on, has a row."""
    eras = get_args(Lock.model_fields["era"].annotation)

    assert {era_fact(era).defines for era in eras} == {"none", "config-setting"}
    assert set(eras) == _rows("eras").keys()
    assert set(get_args(Build.model_fields["preset"].annotation)) - {"none"} == _rows("presets").keys()
    assert set(get_args(Blas.model_fields["provider"].annotation)) == _rows("blas").keys()


@pytest.mark.parametrize(
    ("backend", "era"),
    [
        ("setuptools.build_meta", "setup-py"),
        ("setuptools.build_meta:__legacy__", "setup-py"),
        ("scikit_build_core.build", "scikit-build-core"),
        ("mesonpy", None),
        ("", None),
        ("setuptools", None),
    ],
)
def test_a_back_end_is_of_one_era(backend: str, era: str | None) -> None:
    """A tree's own word decides how it is told things; one that is not known is of no era."""
    assert era_of_backend(backend) == era


def test_no_back_end_is_of_two_eras() -> None:
    """The eras do not overlap."""
    backends = [backend for era in _rows("eras") for backend in era_fact(era).backends]

    assert len(backends) == len(set(backends))


@pytest.mark.parametrize(
    ("variable", "reaches"),
    [
        ("USE_CUDA", True),
        ("BUILD_TEST", True),
        ("CMAKE_CXX_FLAGS", True),
        ("BLAS", True),
        ("ONNX_NAMESPACE", True),
        ("TORCH_CUDA_ARCH_LIST", True),
        ("FOO_EXITCODE", True),
        ("CUDNN_LIB_DIR", True),
        ("NCCL_ROOT", False),
        ("Python_EXECUTABLE", False),
        ("MAX_JOBS", False),
        ("XUSE_CUDA", False),
    ],
)
@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_which_variables_reach_cmake_is_known(era: str, variable: str, reaches: bool) -> None:
    """What the front end forwards, and what it drops without a word, is told apart."""
    assert era_fact(era).reaches(variable) is reaches


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_an_eras_lists_are_sorted_and_say_nothing_twice(era: str) -> None:
    """A list that is in order can be compared with upstream's by eye."""
    fact = era_fact(era)

    for names in (fact.names, fact.prefixes, fact.suffixes):
        assert list(names) == sorted(set(names))
    assert not [name for name in fact.names if name.startswith(fact.prefixes)]
    assert set(fact.renames.values()) - {name for name in fact.renames.values() if fact.reaches(name)} <= {
        "CAFFE2_STATIC_LINK_CUDA"
    }


def test_the_minimal_preset_takes_nothing_from_the_builder() -> None:
    """Whatever could be picked up without being asked for is off, and no flag is on and off at once."""
    facts = preset("minimal", "2.6.0")

    assert facts is not None
    assert not set(facts.off) & set(facts.on)
    assert {"USE_MPI", "USE_CUDA", "USE_MKLDNN", "USE_NUMA", "BUILD_TEST"} <= set(facts.off)
    assert facts.on == ("USE_NUMPY",)
    assert list(facts.off) == sorted(facts.off)
    assert all(SWITCH.fullmatch(name) for name in (*facts.off, *facts.on))


@pytest.mark.parametrize(
    ("name", "release"), [("minimal", "2.6.0"), ("official", "2.6.0"), ("official", "2.13.0")]
)
def test_a_preset_asks_for_nothing_that_cannot_be(name: str, release: str) -> None:
    """What it switches on does not need what it switches off: a recipe of a preset alone can be locked."""
    facts = preset(name, release)

    assert facts is not None
    assert not [on for on in facts.on if set(switch_needs(on)) & set(facts.off)]


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("1.12.1", False),
        ("1.13.1", True),
        ("2.6.0", True),
        ("2.12.1", True),
        ("2.13.0", True),
        ("2.15.0", True),
    ],
)
def test_a_preset_is_of_a_release(release: str, known: bool) -> None:
    """What upstream builds with is told for the releases where it was read, and for no other."""
    assert (preset("official", release) is not None) is known


def test_the_releases_of_a_preset_do_not_overlap() -> None:
    """No release has two rows: which one counts would be chance."""
    for rows in _rows("presets").values():
        ranges = [SpecifierSet(row["torch"]) for row in rows]
        for release in ("1.13.0", "2.0.0", "2.6.0", "2.9.1", "2.12.0", "2.13.0", "2.14.1", "3.0"):
            assert sum(item.contains(release) for item in ranges) <= 1


def test_options_beyond_the_tree_are_switches_and_sorted() -> None:
    """Each row names one switch, each expression of names can be read, and each condition is CMake's."""
    facts = option_facts()

    assert [item.name for item in facts.found] == sorted({item.name for item in facts.found})
    assert all(SWITCH.fullmatch(item.name) for item in (*facts.found, *facts.settled))
    assert all(item.value in ("ON", "OFF") for item in facts.settled)
    assert all(re.compile(item.names) for item in facts.benign)
    tables = ("", *Recipe.model_fields)
    assert all({item.unless, item.among} <= set(tables) for item in facts.found)


def test_what_is_off_by_chance_is_off_in_the_minimal_preset() -> None:
    """What is picked up where nobody asks for it stands in the preset that picks up nothing."""
    facts = preset("minimal", "2.6.0")

    assert facts is not None
    always = {item.name for item in option_facts().found if not item.among}
    assert always - set(facts.off) <= {"USE_MAGMA"}


@pytest.mark.parametrize("provider", ["blis", "generic", "mkl", "openblas"])
def test_a_blas_is_recognised(provider: str) -> None:
    """Each BLAS has the name that CMake wants, what the cache must hold, and what the wheel must say."""
    fact = blas_fact(provider)

    assert fact.blas
    assert all(re.compile(pattern) and part for pattern, part in fact.within.items())
    assert fact.settings["BLAS_INFO"]


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("USE_SYSTEM_NCCL", ("USE_CUDA", "USE_NCCL")),
        ("USE_C10D_NCCL", ("USE_CUDA", "USE_DISTRIBUTED", "USE_NCCL")),
        ("USE_MPI", ("USE_DISTRIBUTED",)),
        ("USE_CUDA", ()),
        ("USE_OF_NOBODY", ()),
    ],
)
def test_what_a_switch_needs_is_told_to_the_end(name: str, needs: tuple[str, ...]) -> None:
    """A switch needs what the switches that it needs need."""
    assert switch_needs(name) == needs


def test_no_switch_needs_itself() -> None:
    """The conditions have no circle, are sorted, and name switches only."""
    needs = switch_fact().needs

    assert list(needs) == sorted(needs)
    for name, others in needs.items():
        assert name not in switch_needs(name)
        assert list(others) == sorted(others)
        assert all(SWITCH.fullmatch(other) for other in (name, *others))


def test_facts_do_not_change() -> None:
    """Who reads a fact cannot change it for the next."""
    assert era_fact("setup-py") == era_fact("setup-py")
    assert preset("minimal", "2.6.0") == preset("minimal", "2.6.0")
    with pytest.raises(KeyError):
        blas_fact("nothing")


def test_upstreams_flags_for_nvcc_follow_the_toolkit() -> None:
    """What upstream tells nvcc depends on the toolkit, and is known for each that a recipe can name."""
    told = {cuda: official_cuda("2.9.1", cuda) for cuda in ("11.6.2", "12.8.1", "13.0.2")}
    flags = {cuda: row.env["TORCH_NVCC_FLAGS"] for cuda, row in told.items() if row}
    assert "--threads" not in flags["11.6.2"]
    assert flags["12.8.1"].endswith("--threads 2")
    assert flags["13.0.2"].endswith("-compress-mode=size")
