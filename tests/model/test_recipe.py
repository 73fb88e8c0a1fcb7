"""The recipe as a value: what the design lets people write, and what each key takes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from torchbuild.model.frozen import frozen_value
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_words import PATTERNS

MAXIMAL = Path(__file__).parents[1] / "data" / "recipes" / "maximal.toml"


@pytest.fixture
def maximal() -> dict[str, Any]:
    """Every key at once."""
    return tomllib.loads(MAXIMAL.read_text(encoding="utf-8"))


def _decode(table: dict[str, Any]) -> Recipe:
    return Recipe.model_validate(frozen_value(table))


def test_every_table_of_the_design_is_accepted(maximal: dict[str, Any]) -> None:
    """Whatever the design promises can be written down today; what comes later is refused by name elsewhere."""
    recipe = _decode(maximal)

    assert recipe.cuda is not None
    assert recipe.cuda.archs == ("6.1", "8.6+PTX", "9.0a")
    assert recipe.cuda.source == "runfile"
    assert recipe.build.flags == {"USE_MPI": False, "BUILD_TEST": 0, "USE_LLVM": "/usr/lib/llvm-14"}
    assert recipe.machine.memory_gib == 64


def test_the_sample_leaves_no_key_out(maximal: dict[str, Any]) -> None:
    """The recipe that shows everything grows with the model: no key can be added without being tried here."""
    left_out = {"extends", "python.path", "blas.path", "source.archive", "source.sha256", "source.path"}
    left_out |= {"source.strip", "cuda.path", "openmp.path", "cudnn.path", "nccl.path", "magma.version"}
    left_out |= {
        f"{name}.{key}" for name in ("cusparselt", "nvshmem", "magma") for key in ("archive", "sha256")
    }
    left_out |= {"cusparselt.path", "nvshmem.path"}
    missing = set()
    for name, field in Recipe.model_fields.items():
        key = field.alias or name
        value = maximal.get(key)
        if value is None:
            missing.add(key)
        elif isinstance(value, dict) and key != "companions":
            inner = type(getattr(_decode(maximal), name)).model_fields
            missing |= {f"{key}.{f.alias or n}" for n, f in inner.items() if (f.alias or n) not in value}

    assert missing - {"source.overlay"} == left_out


def test_companions_may_be_a_table_or_a_list(maximal: dict[str, Any]) -> None:
    """`[companions.NAME]` and `[[companions]]` say the same; the order of a table does not matter."""
    as_table = _decode(maximal).companions
    rows = [{"package": name} | row for name, row in sorted(maximal["companions"].items())]

    assert [item.package for item in as_table] == ["torchaudio", "torchvision"]
    assert _decode(maximal | {"companions": rows}).companions == as_table
    assert _decode(maximal | {"companions": {}}).companions == ()


@pytest.mark.parametrize("value", ["torchvision", {"torchvision": "v0.21"}, {"Torch Vision": {}}, [1], 3])
def test_companions_of_another_shape_are_refused(maximal: dict[str, Any], value: object) -> None:
    """What is neither a list nor a table of companions is an error and not an empty list."""
    with pytest.raises(ValidationError):
        _decode(maximal | {"companions": value})


@pytest.mark.parametrize(
    ("table", "key", "values"),
    [
        ("target", "glibc", ["2.28", "2.5", "3.0"]),
        ("toolchain", "cc", ["gcc", "gcc-11", "x86_64-linux-gnu-gcc", "/opt/gcc-13/bin/gcc", "clang++"]),
        ("wheel", "package", ["torch", "torch_cpu", "t"]),
        (
            "image",
            "name",
            [
                "b",
                "localhost/torchbuild/debian-trixie",
                "host.example:5000/a/b_c:1.0",
                "B.example/a",
                "a@sha256:" + "0" * 64,
            ],
        ),
        ("cuda", "archs", [["7.5"], ["10.0"], ["9.0a"], ["10.0f"], ["12.0+PTX"], []]),
        ("wheel", "local", ["cu124", "cpu", "cu118.pascal", "1"]),
        ("wheel", "build_number", [0, 1, 2]),
        ("source", "epoch", [315532800, 4354819198]),
        ("machine", "memory_gib", [1, 0.5, 24.0]),
        ("machine", "jobs", [1, 256]),
        ("build", "flags", [{"USE_X": True}, {"USE_X": 0}, {"USE_X": "auto"}, {}]),
        ("verify", "level", ["static", "cpu", "gpu"]),
    ],
)
def test_values_of_the_right_kind_are_taken(
    maximal: dict[str, Any], table: str, key: str, values: list[Any]
) -> None:
    """Each key takes what its description says."""
    for value in values:
        recipe = _decode(maximal | {table: maximal[table] | {key: value}})

        assert getattr(getattr(recipe, table), key) == frozen_value(value)


@pytest.mark.parametrize(
    ("table", "key", "values"),
    [
        ("target", "glibc", ["", "v2", "2.28\n", 2.28, "2 28", "2", "2.28.1", "2.x", "2.", ".28", "2.99999"]),
        (
            "toolchain",
            "cc",
            ["", "gcc -O2", "-gcc", "bin/gcc", "../gcc", "/usr/bin/gcc -m32", "/", "gcc\n", "a;b", "a=b"],
        ),
        ("toolchain", "cxx", ["", "ccache g++", "--version", "/opt/a b/g++"]),
        (
            "image",
            "name",
            [
                "",
                "--privileged",
                "A/B",
                "a b",
                "a//b",
                "a/",
                "a:",
                "a:-x",
                "a@sha256:0",
                "../a",
                "/a",
                "a\n",
                "docker://a",
            ],
        ),
        ("cuda", "archs", [["sm_90"], ["9"], ["9.0b"], ["9.0+ptx"], "9.0", [9.0]]),
        ("cuda", "version", [11.8, "", "latest"]),
        ("wheel", "local", ["CU124", "", "cu-124", "cu124.", "a b"]),
        ("wheel", "package", ["", "Torch", "../torch", "a" * 101, "-x", "a-b", "a.b", "a_", "_a", "7z"]),
        ("wheel", "build_number", [-1, "1", 1.0, True, 2**31]),
        ("source", "epoch", [0, -1, 315532799, 4354819199, "2025-01-29", 1.5]),
        ("source", "strip", [-1, 11, True]),
        ("source", "sha256", ["abc", "A" * 64]),
        ("machine", "memory_gib", [0, -1, float("inf"), float("nan"), "64"]),
        ("machine", "jobs", [0, -1, 1.5, 2**17]),
        (
            "build",
            "flags",
            [{"USE X": True}, {"9A": True}, {"USE_X": 1.5}, {"USE_X": None}, {"USE_X": [1]}, []],
        ),
        ("build", "env", [{"A": 1}, {"A=B": "x"}, {"": "x"}]),
        ("build", "type", ["release", "Fast"]),
        ("verify", "require", ["config", [1]]),
        ("python", "version", [3.11, "three"]),
    ],
)
def test_values_of_another_kind_are_refused(
    maximal: dict[str, Any], table: str, key: str, values: list[Any]
) -> None:
    """Nothing is converted or guessed: a number is not a text, and a text is not a number."""
    for value in values:
        with pytest.raises(ValidationError):
            _decode(maximal | {table: maximal[table] | {key: value}})


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "x.", "../x"])
def test_a_companion_has_the_name_of_a_project(maximal: dict[str, Any], name: str) -> None:
    """A name that no package index could hold is refused before anything is asked of one."""
    rows = [{"package": name, "source": maximal["source"]}]

    with pytest.raises(ValidationError):
        _decode(maximal | {"companions": rows})


@pytest.mark.parametrize("key", ["schema", "name", "source", "wheel"])
def test_the_least_that_a_recipe_has(maximal: dict[str, Any], key: str) -> None:
    """A recipe says its format, its name, its source and its wheel; all else has a default."""
    least = {name: maximal[name] for name in ("schema", "name", "source", "wheel")}

    assert _decode(least).toolchain.ninja == ">=1.13"
    del least[key]
    with pytest.raises(ValidationError, match=key):
        _decode(least)


def test_every_pattern_has_words() -> None:
    """Nobody is shown a regular expression: each of the model's is also told in words."""
    schema = json.dumps(Recipe.model_json_schema(by_alias=True))
    used = {json.loads(text) for text in re.findall(r'"pattern": ("(?:\\.|[^"\\])*")', schema)}

    assert used
    assert used <= PATTERNS.keys()
    assert all(PATTERNS.values())
