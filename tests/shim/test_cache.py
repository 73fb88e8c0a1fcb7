"""CMakeCache.txt as CMake itself reads it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.shim.cache import Entry, is_true, parse_cache

TRUTHS = [
    *("1", "ON", "on", "On", "YES", "yes", "TRUE", "true", "Y", "y", "2", "-1", "0.0", "00", "0x0", "1.5"),
    *(
        "auto",
        "/usr/lib/llvm",
        "enabled",
        "OFFX",
        "NOTFOUNDX",
        "notfound",
        "x-notfound",
        "nan",
        "NO!",
        "t",
        "f",
    ),
    *("0", "OFF", "off", "Off", "NO", "no", "FALSE", "False", "N", "n", "IGNORE", "ignore", "", "NOTFOUND"),
    *("X-NOTFOUND", "-NOTFOUND", "MPI_C-NOTFOUND"),
]


def test_truth_is_cmakes_own(cmake: str, tmp_path: Path) -> None:
    """A switch is on where ``if(NAME)`` of the real CMake says so, and nowhere else."""
    script = tmp_path / "truth.cmake"
    tests = [f'set(V "{value}")\nif(V)\nmessage("yes")\nelse()\nmessage("no")\nendif()\n' for value in TRUTHS]
    script.write_text("".join(tests), encoding="utf-8")

    done = subprocess.run([cmake, "-P", str(script)], capture_output=True, text=True, check=True)

    assert dict(zip(TRUTHS, done.stderr.split(), strict=True)) == {
        value: "yes" if is_true(value) else "no" for value in TRUTHS
    }


def test_entries_are_read_as_cmake_wrote_them(cmake: str, tmp_path: Path) -> None:
    """Names, types and values that are hard to read come out as they were handed to the real CMake."""
    values = {
        ("PLAIN", "STRING"): "a b",
        ("EMPTY", "STRING"): "",
        ("SPACE_BEHIND", "STRING"): "a ",
        ("SPACE_BEFORE", "STRING"): " a",
        ("ONLY_SPACE", "STRING"): "  ",
        ("QUOTES", "STRING"): "it's 'so'",
        ("EQUALS", "STRING"): "a=b:c=d",
        ("LIST", "STRING"): "a;b;c",
        ("COMMENT", "STRING"): "# // x",
        ("A PATH", "PATH"): "/usr/x y/z",
        ("odd-name.1", "FILEPATH"): "/usr/bin/x",
        ("WITH:COLON", "BOOL"): "ON",
        ("HIDDEN", "INTERNAL"): "1",
        ("ÜNÏCODE", "STRING"): "Ω\u2028\u0085x",
    }
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(x NONE)\n")
    sets = [
        f'set([==[{name}]==] [==[{value}]==] CACHE {kind} "")\n' for (name, kind), value in values.items()
    ]
    (tmp_path / "sets.cmake").write_text("".join(sets), encoding="utf-8")
    argv = [
        cmake,
        "-C",
        str(tmp_path / "sets.cmake"),
        "-DUNTYPED=1",
        "-S",
        str(tmp_path),
        "-B",
        str(tmp_path / "b"),
    ]

    subprocess.run(argv, capture_output=True, check=True)
    cache = parse_cache((tmp_path / "b" / "CMakeCache.txt").read_text(encoding="utf-8"))

    assert {(name, cache[name].type): cache[name].value for name, _ in values} == values
    assert cache["UNTYPED"] == Entry("UNINITIALIZED", "1")
    assert cache["x_SOURCE_DIR"] == Entry("STATIC", str(tmp_path))
    assert cache["CMAKE_HOME_DIRECTORY"] == Entry("INTERNAL", str(tmp_path))


def test_the_real_cache_is_read_whole(real_cache_text: str) -> None:
    """Every line of a real cache that is no comment is one entry."""
    lines = [line for line in real_cache_text.split("\n") if line and not line.startswith(("#", "//"))]

    cache = parse_cache(real_cache_text)

    assert len(cache) == len(lines) > 150
    assert cache["BLAS"] == Entry("STRING", "OpenBLAS")
    assert cache["USE_MPI"] == Entry("INTERNAL", "OFF")
    assert cache["USE_QNNPACK"] == Entry("UNINITIALIZED", "OFF")
    assert cache["CMAKE_CXX_COMPILER-ADVANCED"] == Entry("INTERNAL", "1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "# A:BOOL=ON",
        "//A:BOOL=ON",
        "A=ON",
        "A:BOOL",
        ":BOOL=ON",
        "=ON",
        "A:=ON",
        "A:1=ON",
        '"A:BOOL=ON',
        "A B",
    ],
)
def test_what_is_no_entry_is_passed_over(text: str) -> None:
    """Comments, blank and broken lines give no entries."""
    assert parse_cache(text) == {}


def test_the_last_of_two_counts() -> None:
    """Where an entry stands twice, the later one is in force."""
    assert parse_cache("A:BOOL=ON\r\nA:BOOL=OFF\r\n")["A"] == Entry("BOOL", "OFF")


@given(st.text(max_size=300) | st.text(alphabet="AB:=\"'#/\n\r -ONF1", max_size=300))
def test_any_text_is_a_cache(text: str) -> None:
    """Reading never fails, however damaged the file is."""
    for name, entry in parse_cache(text).items():
        assert name
        assert entry.type
        assert is_true(entry.value) in (True, False)
