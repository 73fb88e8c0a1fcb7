"""Asked is not got: what the gate lets pass and what it refuses, on the real cache of PyTorch 2.6."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.knowledge.tables import switch_needs
from torchbuild.model.lock import Expectation
from torchbuild.shim.cache import Entry, is_true, parse_cache
from torchbuild.shim.gate import compare

Cache = dict[str, Entry]
Item = dict[str, Any]


@pytest.fixture
def cache(real_cache_text: str) -> Cache:
    """The real cache, to be changed."""
    return parse_cache(real_cache_text)


@pytest.fixture
def refusals(real_expectations: list[Item]) -> Callable[[Cache], dict[str, str]]:
    """What the gate refuses: the reference of each by the name of its entry."""

    def by_name(cache: Cache) -> dict[str, str]:
        findings = compare(cache, real_expectations)
        assert len(findings) >= len(real_expectations)
        return {
            item["what"].rpartition(" (")[0]: item["reference"]
            for item in findings
            if item["outcome"] == "failed"
        }

    return by_name


def test_a_build_that_is_as_asked_passes(cache: Cache, refusals: Callable[[Cache], dict[str, str]]) -> None:
    """The real configuration is refused nothing: a gate that cries wolf is switched off."""
    assert refusals(cache) == {}


KINDS: tuple[str, ...] = get_args(Expectation.model_fields["kind"].annotation)
BY_NAME = KINDS[: KINDS.index("every")]
"""Kinds that look at one entry; the others at all that match."""
COMPARED = tuple(kind for kind in KINDS if kind not in ("only", "found"))
"""Kinds that compare values."""


def _named(item: Item, cache: Cache) -> list[str]:
    """The entries that an expectation looks at."""
    if item["kind"] in BY_NAME:
        return [item["key"]]
    return [name for name in cache if re.fullmatch(item["key"], name)]


def _state(entry: Entry | None) -> str:
    on = entry is not None and entry.type not in ("INTERNAL", "STATIC") and is_true(entry.value)
    return "ON" if on else "OFF"


def _flipped(item: Item, entry: Entry | None) -> Entry:
    """The entry with another value."""
    if item["kind"] in ("switch", "option"):
        return Entry("BOOL", "OFF" if _state(entry) == "ON" else "ON")
    return Entry("STRING" if entry is None else entry.type, "/opt/other")


def test_every_value_that_is_another_is_refused_by_name(
    cache: Cache,
    real_expectations: list[Item],
    refusals: Callable[[Cache], dict[str, str]],
    record_property: Callable[[str, object], None],
) -> None:
    """For each entry that is compared: another value there, and only there, is refused under its name."""
    tried = 0
    for item in real_expectations:
        if item["kind"] not in COMPARED:
            continue
        for name in _named(item, cache):
            refused = refusals(cache | {name: _flipped(item, cache.get(name))})

            assert refused == {item["key"]: item["reference"]}, name
            tried += 1
    record_property("values flipped, each refused by name", tried)
    assert tried > 100


def test_every_option_that_is_hidden_or_gone_is_refused_by_name(
    cache: Cache,
    real_expectations: list[Item],
    refusals: Callable[[Cache], dict[str, str]],
    record_property: Callable[[str, object], None],
) -> None:
    """An option that the tree surely declares is there and in force, be it on or off: else it is another tree."""
    tried = 0
    for item in real_expectations:
        if item["kind"] != "option":
            continue
        key = item["key"]
        assert refusals({name: entry for name, entry in cache.items() if name != key}) == {
            key: item["reference"]
        }
        for kind in ("INTERNAL", "STATIC"):
            assert refusals(cache | {key: Entry(kind, cache[key].value)}) == {key: item["reference"]}
        tried += 1
    record_property("options hidden or deleted, each refused by name", tried)
    assert tried > 85


def test_a_switch_that_may_be_hidden_counts_by_its_state(
    cache: Cache, real_expectations: list[Item], refusals: Callable[[Cache], dict[str, str]]
) -> None:
    """What hangs on an option that is off is off, whether an entry is left of it or not."""
    for item in real_expectations:
        if item["kind"] != "switch":
            continue
        key = item["key"]
        assert item["value"] == "OFF"
        assert refusals({name: entry for name, entry in cache.items() if name != key}) == {}
        for kind in ("INTERNAL", "STATIC"):
            assert refusals(cache | {key: Entry(kind, "1")}) == {}


def test_an_entry_that_is_gone_is_refused_where_a_value_is_needed(
    cache: Cache, real_expectations: list[Item], refusals: Callable[[Cache], dict[str, str]]
) -> None:
    """Compilers, BLAS, NumPy, generator and directories must be there; their type does not matter."""
    may_be_absent = ("switch", "every-contains", "each", "only", "found", "option")
    needed = [item for item in real_expectations if item["kind"] not in may_be_absent]
    needed = [item for item in needed if item["kind"] != "text" or item["value"]]
    for item in needed:
        names = _named(item, cache)
        without = {name: entry for name, entry in cache.items() if name not in names}

        assert refusals(without) == {item["key"]: item["reference"]}
        for name in names:
            assert refusals(cache | {name: Entry("INTERNAL", cache[name].value)}) == {}
    assert {item["reference"] for item in needed} == {
        "gate-blas", "gate-compiler", "gate-generator", "gate-numpy", "gate-python",
    }  # fmt: skip


def test_every_option_of_the_real_tree_is_expected(cache: Cache, real_expectations: list[Item]) -> None:
    """No third state: each USE_ and BUILD_ entry of the real cache has a row of its own."""
    expected = {item["key"] for item in real_expectations if item["kind"] in BY_NAME}
    options = {name for name in cache if re.fullmatch(r"(USE|BUILD)_\w+", name)}

    assert options <= expected
    assert len(options) > 80


@pytest.mark.parametrize("name", ["USE_NEW_THING", "BUILD_NEW_THING", "USE_x2"])
@pytest.mark.parametrize("entry", [Entry("BOOL", "ON"), Entry("BOOL", "OFF"), Entry("INTERNAL", "1")])
def test_an_option_that_nobody_expected_ends_the_build_by_its_name(
    cache: Cache, refusals: Callable[[Cache], dict[str, str]], name: str, entry: Entry
) -> None:
    """What a patch or a found library adds is not waved through, be it on or off."""
    assert refusals(cache | {name: entry}) == {name: "gate-unexpected"}


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("ONNX_LIBRARY", {"gate-notfound"}),
        ("pybind11_INCLUDE_DIR", {"gate-notfound"}),
        ("NCCL_LIBRARIES", {"gate-notfound"}),
        ("OpenBLAS_LIB", {"gate-blas", "gate-notfound"}),
        ("Foo_DIR", set()),
        ("CMAKE_DLLTOOL", set()),
        ("Protobuf_PROTOC_LIBRARY_DEBUG", set()),
    ],
)
def test_what_was_not_found_is_refused_but_for_what_is_known_to_be_harmless(
    cache: Cache, refusals: Callable[[Cache], dict[str, str]], name: str, reference: set[str]
) -> None:
    """CMake goes on without what it does not find; the gate does not, unless a table says that it may."""
    assert set(refusals(cache | {name: Entry("FILEPATH", f"{name}-NOTFOUND")}).values()) == reference


@pytest.mark.parametrize("kind", ["BOOL", "STRING", "PATH"])
@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("1", "ON"),
        ("True", "ON"),
        ("auto", "ON"),
        ("0", "OFF"),
        ("n", "OFF"),
        ("", "OFF"),
        ("X-NOTFOUND", "OFF"),
    ],
)
def test_a_switch_counts_by_truth(kind: str, value: str, state: str) -> None:
    """Front ends write the same wish in many ways and types; what counts is what CMake makes of it."""
    item = {"reference": "gate-flag", "key": "USE_A", "kind": "switch", "value": state, "why": "me"}
    other = item | {"value": "OFF" if state == "ON" else "ON"}

    passed, failed = compare({"USE_A": Entry(kind, value)}, [item, other])

    assert (passed["outcome"], failed["outcome"]) == ("passed", "failed")
    assert failed["seen"] == f"{state}: {value or 'nothing'} ({kind})"


@pytest.mark.parametrize(
    "name",
    [
        "Python_EXECUTABLE",
        "_Python_EXECUTABLE",
        "Python3_EXECUTABLE",
        "_Python3_EXECUTABLE",
        "PYTHON_EXECUTABLE",
    ],
)
@pytest.mark.parametrize("path", ["/usr/bin/python3", "/torchbuild/venv/bin/python3", "", "NOTFOUND"])
def test_another_interpreter_is_refused_in_every_spelling(
    cache: Cache, refusals: Callable[[Cache], dict[str, str]], name: str, path: str
) -> None:
    """A module of CMake that found an interpreter of its own is refused, wherever it keeps it."""
    cache[name] = Entry("FILEPATH", path)

    assert "gate-python" in refusals(cache).values()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_Python_INTERPRETER_PROPERTIES", "Python;3;11;2;64;<none>;cpython-311-x86_64-linux-gnu;abi3;/usr/lib/python3.11"),
        ("_Python_INCLUDE_DIR", "/usr/include/python3.11"),
        ("Python3_INCLUDE_DIR", "/usr/include/python3.12"),
        ("PYTHON_INCLUDE_DIR", "PYTHON_INCLUDE_DIR-NOTFOUND"),
    ],
)  # fmt: skip
def test_another_interpreters_parts_are_refused(
    cache: Cache, refusals: Callable[[Cache], dict[str, str]], name: str, value: str
) -> None:
    """The right path with another version's ABI or headers is not the right interpreter."""
    cache[name] = Entry("INTERNAL", value)

    assert "gate-python" in refusals(cache).values()


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"USE_NUMPY": ("BOOL", "OFF"), "_Python_NumPy_INCLUDE_DIR": None}, {"gate-flag", "gate-numpy"}),
        ({"_Python_NumPy_INCLUDE_DIR": None}, {"gate-numpy"}),
        (
            {"_Python_NumPy_INCLUDE_DIR": ("PATH", "_Python_NumPy_INCLUDE_DIR-NOTFOUND")},
            {"gate-numpy", "gate-notfound"},
        ),
        (
            {"_Python_NumPy_INCLUDE_DIR": ("PATH", "/usr/lib/python3/dist-packages/numpy/core/include")},
            {"gate-numpy"},
        ),
        ({"_Python_NumPy_INCLUDE_DIR": ("PATH", "/torchbuild/venv2/numpy")}, {"gate-numpy"}),
        ({"_Python_NumPy_INCLUDE_DIR": ("PATH", "/torchbuild/venv/../numpy")}, {"gate-numpy"}),
        ({"USE_MPI": ("BOOL", "ON")}, {"gate-flag"}),
        ({"USE_MPI": ("UNINITIALIZED", "1")}, {"gate-flag"}),
        ({"BLAS": ("STRING", "MKL")}, {"gate-blas"}),
        ({"OpenBLAS_LIB": ("FILEPATH", "/usr/lib/x86_64-linux-gnu/libblas.so")}, {"gate-blas"}),
        ({"OpenBLAS_LIB": ("FILEPATH", "OpenBLAS_LIB-NOTFOUND")}, {"gate-blas", "gate-notfound"}),
        ({"OpenBLAS_LIB": None}, {"gate-blas"}),
        ({"CMAKE_CXX_COMPILER": ("FILEPATH", "/usr/bin/clang++")}, {"gate-compiler"}),
        ({"CMAKE_C_COMPILER": ("STRING", "gcc")}, {"gate-compiler"}),
        ({"CMAKE_CXX_COMPILER_LAUNCHER": ("STRING", "/usr/bin/sccache")}, {"gate-compiler"}),
        ({"CMAKE_CXX_COMPILER_LAUNCHER": None}, {"gate-compiler"}),
        ({"CMAKE_GENERATOR": ("INTERNAL", "Unix Makefiles")}, {"gate-generator"}),
        ({"CMAKE_MAKE_PROGRAM": ("FILEPATH", "/usr/bin/ninja")}, {"gate-generator"}),
        ({"CMAKE_HOME_DIRECTORY": ("INTERNAL", "/root/pytorch")}, {"gate-generator"}),
        ({"CMAKE_CACHEFILE_DIR": ("INTERNAL", "/torchbuild/source/build2")}, {"gate-generator"}),
        ({"CMAKE_BUILD_TYPE": ("STRING", "Debug")}, {"gate-generator"}),
    ],
)
def test_what_goes_wrong_in_real_builders_is_refused(
    cache: Cache,
    refusals: Callable[[Cache], dict[str, str]],
    changes: dict[str, tuple[str, str] | None],
    refused: set[str],
) -> None:
    """A missing NumPy, an MPI that was found, another BLAS, compiler, launcher or directory: each by its check."""
    for name, entry in changes.items():
        cache.pop(name, None)
        cache |= {} if entry is None else {name: Entry(*entry)}

    assert set(refusals(cache).values()) == refused


@pytest.mark.parametrize(
    ("wanted", "entry", "outcome"),
    [
        ("", None, "passed"),
        ("", Entry("STRING", ""), "passed"),
        ("", Entry("STRING", "/usr/bin/ccache"), "failed"),
        ("/usr/bin/ccache", None, "failed"),
        ("/usr/bin/ccache", Entry("STRING", "ccache"), "failed"),
    ],
)
def test_a_launcher_nobody_asked_for_is_refused(wanted: str, entry: Entry | None, outcome: str) -> None:
    """No entry and an empty one are the same to CMake; a compiler cache that the tree found by itself is not."""
    item = {"reference": "gate-compiler", "key": "L", "kind": "text", "value": wanted, "why": "x"}

    (finding,) = compare({} if entry is None else {"L": entry}, [item])

    assert finding["outcome"] == outcome


def test_a_path_is_the_same_however_it_is_written() -> None:
    """Doubled and trailing slashes are no difference between paths; another name is."""
    item = {"reference": "r", "key": "P", "kind": "path", "value": "/usr/bin/gcc", "why": "x"}
    paths = [
        "/usr/bin/gcc",
        "/usr//bin/./gcc",
        "/usr/lib/../bin/gcc",
        "/usr/bin/gcc/",
        "gcc",
        "/usr/bin/gcc-14",
    ]

    outcomes = [compare({"P": Entry("FILEPATH", path)}, [item])[0]["outcome"] for path in paths]

    assert outcomes == ["passed"] * 4 + ["failed"] * 2


@pytest.mark.parametrize(
    ("kind", "value", "none", "good", "bad"),
    [
        ("every", "/a/b", "failed", "/a/b", "/a/c"),
        ("every-contains", "b", "not run", "abc", "ac"),
        ("each", "/a/b", "not run", "/a//b", "/a/bc"),
        ("contains", "b", "failed", "abc", "ac"),
        ("within", "/a", "failed", "/a/b", "/ab"),
    ],
)
def test_one_wrong_among_many_is_enough(kind: str, value: str, none: str, good: str, bad: str) -> None:
    """Where several entries are compared, all must be right, and the wrong ones are shown by name."""
    item = {"reference": "r", "key": "X[0-9]", "kind": kind, "value": value, "why": "x"}
    right = {f"X{number}": Entry("STRING", good) for number in range(3)} | {"X11": Entry("STRING", bad)}

    assert compare({}, [item])[0]["outcome"] == none
    assert compare(right, [item])[0]["outcome"] == "passed"
    (finding,) = compare(right | {"X1": Entry("STRING", bad)}, [item])
    assert (finding["outcome"], finding["seen"]) == ("failed", f"X1={bad}")


LOST_CUDA = """\
cmake_minimum_required(VERSION 3.18)
project(x NONE)
include(CMakeDependentOption)
option(USE_CUDA "" ON)
cmake_dependent_option(USE_NCCL "" ON "USE_CUDA" OFF)
cmake_dependent_option(USE_SYSTEM_NCCL "" OFF "USE_NCCL" OFF)
option(USE_DISTRIBUTED "" OFF)
cmake_dependent_option(USE_MPI "" ON "USE_DISTRIBUTED" OFF)
# what the tree does where nvcc is not found
set(USE_CUDA OFF CACHE BOOL "" FORCE)
set(USE_NCCL OFF CACHE BOOL "" FORCE)
"""


def test_a_switch_whose_condition_was_lost_later_is_refused(cmake: str, tmp_path: Path) -> None:
    """When CUDA is lost after NCCL was declared, the cache still says that NCCL is on: what it needs is compared."""
    (tmp_path / "CMakeLists.txt").write_text(LOST_CUDA, encoding="utf-8")
    argv = [
        cmake,
        "-DUSE_CUDA=1",
        "-DUSE_SYSTEM_NCCL=1",
        "-DUSE_MPI=1",
        "-S",
        str(tmp_path),
        "-B",
        str(tmp_path / "b"),
    ]
    subprocess.run(argv, capture_output=True, check=True)
    cache = parse_cache((tmp_path / "b" / "CMakeCache.txt").read_text(encoding="utf-8"))

    names = ["USE_SYSTEM_NCCL", *switch_needs("USE_SYSTEM_NCCL"), "USE_MPI"]
    items = [
        {"reference": "gate-flag", "key": name, "kind": "switch", "value": "ON", "why": "x"} for name in names
    ]
    refused = [item["what"] for item in compare(cache, items) if item["outcome"] == "failed"]

    assert cache["USE_SYSTEM_NCCL"] == Entry("BOOL", "1")
    assert cache["USE_MPI"] == Entry("INTERNAL", "1")
    assert refused == ["USE_CUDA (x)", "USE_NCCL (x)", "USE_MPI (x)"]


NAMES = st.sampled_from(["USE_A", "USE_B", "BLAS", "P1", "P2", "Ü"])
ENTRIES = st.builds(
    Entry,
    st.sampled_from(["BOOL", "STRING", "PATH", "FILEPATH", "UNINITIALIZED", "INTERNAL", "STATIC"]),
    st.text(max_size=12) | st.sampled_from(["ON", "OFF", "1", "/a/b", "//a", "x-NOTFOUND", ";", "."]),
)
ITEMS = st.fixed_dictionaries(
    {
        "reference": st.just("r"),
        "key": NAMES | st.just("P[0-9]"),
        "kind": st.sampled_from(COMPARED),
        "value": st.sampled_from(["ON", "OFF", "", "/a/b", "x"]),
        "why": st.just("w"),
    }
)


@given(st.dictionaries(NAMES, ENTRIES), st.lists(ITEMS, max_size=6))
def test_every_expectation_has_an_answer(cache: Cache, items: list[Item]) -> None:
    """Whatever a cache holds, each expectation is answered, with what was seen; none is skipped."""
    findings = compare(cache, items)

    assert [item["wanted"] for item in findings] == [item["value"] for item in items]
    assert {item["outcome"] for item in findings} <= {"passed", "failed", "not run"}
    assert all(item["seen"] for item in findings)


@given(st.dictionaries(NAMES, ENTRIES, min_size=1))
def test_the_order_of_a_cache_does_not_matter(cache: Cache) -> None:
    """The same entries in another order are judged the same."""
    items: list[Item] = [
        {"reference": "r", "key": "P[0-9]|USE_.", "kind": kind, "value": "/a/b", "why": "w"}
        for kind in ("every", "every-contains", "contains", "within", "each")
    ]

    assert compare(cache, items) == compare(dict(reversed(cache.items())), items)


def test_a_flag_that_no_option_of_the_tree_declares_is_refused() -> None:
    """A misspelt flag is not passed because CMake kept our own definition of it."""
    item = {"reference": "gate-flag", "key": "USE_TYPO", "kind": "switch", "value": "ON", "why": "w"}

    undeclared = compare({"USE_TYPO": Entry("UNINITIALIZED", "ON")}, [item])[0]
    declared = compare({"USE_TYPO": Entry("BOOL", "ON")}, [item])[0]
    unwanted = compare({"USE_TYPO": Entry("UNINITIALIZED", "0")}, [{**item, "value": "OFF"}])[0]

    assert (undeclared["outcome"], declared["outcome"], unwanted["outcome"]) == ("failed", "passed", "passed")
    assert "no option of this tree" in undeclared["seen"]
