"""What is told about a tree's options before CMake runs is what CMake then does. CMake itself is asked."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.resolve.cmake_scope import CacheEntry
from torchbuild.resolve.cmake_script import follow
from torchbuild.shim.cache import Entry, is_true, parse_cache

CMAKE = str(Path(sysconfig.get_path("scripts")) / "cmake")
HEAD = "cmake_minimum_required(VERSION 3.18...3.27)\nproject(x NONE)\ninclude(CMakeDependentOption)\n"
Files = Mapping[str, str]

CERTAIN: list[tuple[str, str, dict[str, str]]] = [
    ("default", 'option(USE_A "a" ON)\noption(USE_B "b")\noption(USE_C "c" OFF)', {}),
    ("asked", 'option(USE_A "a" ON)\noption(USE_B "b" OFF)', {"USE_A": "0", "USE_B": "yes"}),
    ("undeclared", 'option(USE_A "a" ON)', {"USE_GONE": "ON"}),
    ("upper case", 'OPTION(USE_A "a" ON)\nIf(USE_A)\nOPTION(USE_B "b" ON)\nEndIf()', {}),
    ("hidden by a variable", 'set(USE_A OFF)\noption(USE_A "a" ON)\noption(USE_B "b" ${USE_A})', {}),
    ("default of a default", 'set(D ON)\noption(USE_A "a" ${D})\noption(USE_B "b" ${USE_A})', {}),
    ("named by a variable", 'foreach(i 1)\nendforeach()\nset(N A)\noption(USE_${N} "a" ON)', {}),
    ("condition", 'option(USE_A "a" OFF)\nif(USE_A)\noption(USE_B "b" ON)\nelse()\noption(USE_C "c" ON)\nendif()', {}),
    ("dependent", 'option(USE_A "a" ON)\ncmake_dependent_option(USE_B "b" ON "USE_A" OFF)', {}),
    ("dependent, off", 'option(USE_A "a" OFF)\ncmake_dependent_option(USE_B "b" ON "USE_A" OFF)', {"USE_B": "1"}),
    ("dependent, two", 'option(USE_A "a" ON)\ncmake_dependent_option(USE_B "b" ON "USE_A;NOT WIN32" OFF)', {}),
    ("dependent, or", 'option(USE_A "a" OFF)\noption(USE_C "c" ON)\ncmake_dependent_option(USE_B "b" ON "USE_A OR USE_C;UNIX;NOT APPLE" OFF)', {}),
    ("dependent, unquoted", 'option(USE_A "a" ON)\ncmake_dependent_option(USE_B "b" ON USE_A OFF)', {}),
    ("chain", 'option(USE_A "a" OFF)\ncmake_dependent_option(USE_B "b" ON "USE_A" OFF)\ncmake_dependent_option(USE_C "c" ON "USE_B" OFF)', {"USE_C": "1"}),
    ("cache", 'set(USE_A ON CACHE BOOL "a")\nset(USE_B OFF CACHE STRING "b")', {"USE_B": "1"}),
    ("force", 'option(USE_A "a" ON)\nset(USE_A OFF CACHE BOOL "a" FORCE)', {"USE_A": "1"}),
    ("macro", 'macro(put variable value)\nset(${variable} ${value} CACHE BOOL "x" FORCE)\nendmacro()\noption(USE_A "a" ON)\nput(USE_A OFF)', {}),
    ("function", 'function(put variable value)\nset(${variable} ${value} CACHE BOOL "x" FORCE)\nset(Z OFF PARENT_SCOPE)\nendfunction()\nset(Z ON)\nput(USE_A OFF)\noption(USE_B "b" ${Z})', {}),
    ("function's own", 'function(f)\nset(Z OFF)\nendfunction()\nset(Z ON)\nf()\noption(USE_B "b" ${Z})', {}),
    ("environment", 'if(DEFINED ENV{GIVEN})\noption(USE_A "a" $ENV{GIVEN})\nendif()\nif(DEFINED ENV{NOT_GIVEN})\noption(USE_B "b" ON)\nendif()', {}),
    ("defined", 'if(NOT DEFINED USE_A)\noption(USE_A "a" ON)\nendif()\nif(NOT DEFINED USE_B)\noption(USE_B "b" ON)\nendif()', {"USE_A": "0"}),
    ("unset", 'set(Z ON)\nunset(Z)\nif(Z)\noption(USE_A "a" ON)\nendif()\nset(Y)\nif(NOT DEFINED Y)\noption(USE_B "b" ON)\nendif()', {}),
    ("compare", 'set(V 1.10)\nif(V VERSION_GREATER 1.9)\noption(USE_A "a" ON)\nendif()\nif("x" STREQUAL "y")\noption(USE_B "b" ON)\nendif()\nif(3 GREATER_EQUAL 3)\noption(USE_C "c" ON)\nendif()', {}),
    ("match", 'set(P "x86_64")\nif(P MATCHES "(AMD64|x86_64)")\noption(USE_A "a" ON)\nendif()\nif(P MATCHES "^arm")\noption(USE_B "b" ON)\nendif()', {}),
    ("list", 'set(L a;b)\nif(b IN_LIST L)\noption(USE_A "a" ON)\nendif()', {}),
    ("precedence", 'set(T ON)\nif(NOT F AND T OR F)\noption(USE_A "a" ON)\nendif()\nif(T OR F AND F)\noption(USE_B "b" ON)\nendif()\nif(NOT (T AND T))\noption(USE_C "c" ON)\nendif()', {}),
    ("constants", 'if("ON")\noption(USE_A "a" ON)\nendif()\nif(X-NOTFOUND)\noption(USE_B "b" ON)\nendif()\nif("text")\noption(USE_C "c" ON)\nendif()\nif(2)\noption(USE_D "d" ON)\nendif()', {}),
    ("platform", 'if(UNIX AND NOT APPLE AND NOT WIN32)\noption(USE_A "a" ON)\nendif()\nif(${CMAKE_SYSTEM_NAME} STREQUAL "Linux")\noption(USE_B "b" ON)\nendif()', {}),
    ("comment", '# option(USE_A "a" ON)\n#[[ option(USE_B "b" ON)\n]]\noption(USE_C [=[c]=] ON)', {}),
    ("return", 'option(USE_A "a" ON)\nreturn()\noption(USE_B "b" ON)', {}),
    ("loop over words", 'foreach(x A B)\noption(USE_${x} "x" ON)\nendforeach()', {}),
    ("loop over a list", 'set(L A;B)\nlist(APPEND L C)\nforeach(x IN LISTS L ITEMS D)\noption(USE_${x} "x" ON)\nendforeach()', {}),
    ("loop left", 'foreach(x A B C)\nif(x STREQUAL "B")\nbreak()\nendif()\noption(USE_${x} "x" ON)\nendforeach()', {}),
    ("loop gone on", 'foreach(x A B C)\nif(x STREQUAL "B")\ncontinue()\nendif()\noption(USE_${x} "x" ON)\nendforeach()', {}),
    ("loop variable", 'set(x OFF)\nforeach(x ON)\nendforeach()\noption(USE_A "a" ${x})', {}),
    ("further arguments", 'function(f a)\nforeach(x ${ARGN})\noption(USE_${x} "x" ${a})\nendforeach()\nendfunction()\nf(ON A B)', {}),
    ("further arguments of a macro", 'macro(m a)\noption(USE_${ARGV1} "x" ${a})\nif(${ARGC} GREATER 2)\noption(USE_MANY "m" ON)\nendif()\nendmacro()\nm(ON A B)', {}),
    ("environment set", 'set(ENV{LATER} ON)\nif(DEFINED ENV{LATER})\noption(USE_A "a" $ENV{LATER})\nendif()\nunset(ENV{LATER})\nif(DEFINED ENV{LATER})\noption(USE_B "b" ON)\nendif()', {}),
    ("property", 'option(USE_A "a" ON)\nset_property(CACHE USE_A PROPERTY VALUE OFF)', {}),
    ("texts", 'string(TOUPPER "on" V)\noption(USE_A "a" ${V})\nset(W O)\nstring(APPEND W FF)\noption(USE_B "b" ${W})', {}),
    ("top level", 'option(USE_A "a" ${PROJECT_IS_TOP_LEVEL})\nif(CMAKE_PROJECT_NAME STREQUAL PROJECT_NAME)\noption(USE_B "b" ON)\nendif()', {}),
    ("block", 'set(V OFF)\nblock(PROPAGATE V)\nset(V ON)\nset(W ON)\nendblock()\noption(USE_A "a" ${V})\noption(USE_B "b" ${W})', {}),
    ("numbers", 'if(0x1)\noption(USE_A "a" ON)\nendif()\nif(1_0)\noption(USE_B "b" ON)\nendif()\nif(x-notfound)\noption(USE_C "c" ON)\nendif()', {}),
    ("nested reference", 'set(N Z)\nset(V_Z OFF)\noption(USE_A "a" ${V_${N}})', {}),
]  # fmt: skip


def _state(entry: CacheEntry | Entry | None) -> str:
    """What ``if(NAME)`` sees: an entry that is hidden or not there is off."""
    if entry is None or entry.type in ("INTERNAL", "STATIC"):
        return "OFF"
    assert entry.value is not None
    return "ON" if is_true(entry.value) else "OFF"


def _asked_of_cmake(
    folder: Path, files: Files, asked: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, Entry]:
    for name, text in files.items():
        (folder / "s" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "s" / name).write_text(text, encoding="utf-8")
    argv = [
        CMAKE,
        *(f"-D{name}={value}" for name, value in asked.items()),
        "-S",
        f"{folder}/s",
        "-B",
        f"{folder}/b",
    ]
    subprocess.run(argv, capture_output=True, check=True, env={"PATH": "/usr/bin:/bin", **environ})
    text = (folder / "b" / "CMakeCache.txt").read_text(encoding="utf-8")
    return {name: entry for name, entry in parse_cache(text).items() if name.startswith("USE_")}


def told(
    files: Files, asked: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, CacheEntry]:
    """What is told before CMake runs."""
    found = follow(files.get, asked=asked or {}, environ=environ or {}, machine="x86_64").cache
    return {name: entry for name, entry in found.items() if name.startswith("USE_")}


@pytest.mark.parametrize(("script", "asked"), [row[1:] for row in CERTAIN], ids=[row[0] for row in CERTAIN])
def test_what_is_told_is_what_cmake_does(tmp_path: Path, script: str, asked: dict[str, str]) -> None:
    """Every option has the state that CMake then gives it, and none is told that is not there."""
    files, environ = {"CMakeLists.txt": HEAD + script + "\n"}, {"GIVEN": "ON"}

    real = _asked_of_cmake(tmp_path, files, asked, environ)
    mine = told(files, asked, environ)

    assert {name: _state(entry) for name, entry in mine.items()} == {
        name: _state(real.get(name)) for name in real.keys() | mine.keys()
    }
    assert all(entry.is_certain for entry in mine.values())


OLDER = "cmake_minimum_required(VERSION 3.5)\n"
PARTS: list[tuple[str, str, str]] = [
    ("old policy", "set(USE_A OFF)\nadd_subdirectory(sub)", OLDER + 'project(s NONE)\noption(USE_A "a" ON)'),
    ("new policy", "set(USE_A OFF)\nadd_subdirectory(sub)", 'cmake_minimum_required(VERSION 3.13)\nproject(s NONE)\noption(USE_A "a" ON)'),
    ("range of policies", "set(USE_A OFF)\nadd_subdirectory(sub)", 'cmake_minimum_required(VERSION 3.5...3.20)\nproject(s NONE)\noption(USE_A "a" ON)'),
    ("policy by default", "set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)\nset(USE_A OFF)\nadd_subdirectory(sub)", OLDER + 'project(s NONE)\noption(USE_A "a" ON)'),
    ("policy by name", "set(USE_A OFF)\nadd_subdirectory(sub)", OLDER + 'cmake_policy(SET CMP0077 NEW)\nproject(s NONE)\noption(USE_A "a" ON)'),
    ("policy stays inside", 'add_subdirectory(sub)\nset(USE_B OFF)\noption(USE_B "b" ON)', OLDER + "project(s NONE)"),
    ("folder of a project", "add_subdirectory(sub)\ninclude(${PROJECT_SOURCE_DIR}/top.cmake)", OLDER + "project(s NONE)\ninclude(${PROJECT_SOURCE_DIR}/part.cmake)\ninclude(${CMAKE_SOURCE_DIR}/top2.cmake)"),
    ("what a part sets stays there", 'add_subdirectory(sub)\noption(USE_B "b" ${Z})', OLDER + "project(s NONE)\nset(Z ON)"),
    ("what a part hands up", 'add_subdirectory(sub)\noption(USE_B "b" ${Z})', OLDER + "project(s NONE)\nset(Z ON PARENT_SCOPE)"),
]  # fmt: skip


@pytest.mark.parametrize(("top", "part"), [row[1:] for row in PARTS], ids=[row[0] for row in PARTS])
def test_parts_with_projects_of_their_own_are_followed_too(tmp_path: Path, top: str, part: str) -> None:
    """Submodules bring projects, policies and options of their own; they are options of the whole."""
    files = {
        "CMakeLists.txt": HEAD + top + "\n",
        "sub/CMakeLists.txt": part + "\n",
        "sub/part.cmake": 'option(USE_PART "p" ON)\n',
        "top.cmake": 'option(USE_TOP "t" ON)\n',
        "top2.cmake": 'option(USE_TOP2 "t" ON)\n',
    }

    real, mine = _asked_of_cmake(tmp_path, files, {}, {}), told(files)

    assert {name: _state(entry) for name, entry in mine.items()} == {
        name: _state(real.get(name)) for name in real.keys() | mine.keys()
    }


def test_files_are_followed_through_the_tree(tmp_path: Path) -> None:
    """Included files, modules on the tree's own path and subdirectories are read as CMake reads them."""
    files = {
        "CMakeLists.txt": HEAD
        + "list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)\ninclude(cmake/One.cmake)\n"
        "include(Two)\ninclude(cmake/Missing.cmake OPTIONAL)\nadd_subdirectory(sub)\n"
        'option(USE_TOP "t" ${INNER})\n',
        "cmake/One.cmake": 'include(${CMAKE_CURRENT_LIST_DIR}/deep/Deeper.cmake)\noption(USE_ONE "1" ON)\n',
        "cmake/deep/Deeper.cmake": 'option(USE_DEEPER "d" ON)\n',
        "cmake/Two.cmake": 'option(USE_TWO "2" ON)\n',
        "sub/CMakeLists.txt": 'set(INNER ON)\noption(USE_SUB "s" ON)\nadd_subdirectory(below)\n',
        "sub/below/CMakeLists.txt": 'option(USE_BELOW "b" ${INNER})\n',
    }

    real, mine = _asked_of_cmake(tmp_path, files, {}, {}), told(files)

    assert {name: _state(entry) for name, entry in mine.items()} == {
        name: _state(entry) for name, entry in real.items()
    }
    assert mine["USE_DEEPER"].where == "cmake/deep/Deeper.cmake:1"


@pytest.mark.parametrize(
    ("script", "value", "is_certain"),
    [
        # what hangs on the machine is not told as if it were known
        ('find_package(Foo)\nif(Foo_FOUND)\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('find_package(Foo)\nif(FOO_PART_FOUND)\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('find_library(LIB foo)\ncmake_dependent_option(USE_A "a" ON "LIB" OFF)', "ON", False),
        ('find_library(LIB foo)\noption(USE_A "a" ${LIB})', None, True),
        ('check_thing(HAS)\nif(HAS)\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('if(EXISTS /opt/foo)\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('find_library(LIB foo)\nforeach(x ${UNKNOWN_LIST} ${LIB})\noption(USE_A "a" ON)\nendforeach()', "ON", False),
        ('while(x)\noption(USE_A "a" OFF)\nendwhile()', "OFF", False),
        ('if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")\nset(D ON)\nelse()\nset(D OFF)\nendif()\noption(USE_A "a" ${D})', None, True),
        ('get_directory_property(P PARENT_DIRECTORY)\nif(P)\noption(USE_A "a" OFF)\nelse()\noption(USE_A "a" ON)\nendif()', None, False),
        ('file(GLOB M *.cmake)\nset(V OFF)\ninclude(${M})\noption(USE_A "a" ${V})', None, True),
        ('set(V OFF)\nstring(REPLACE "OFF" "ON" "V" "${V}")\noption(USE_A "a" ${V})', None, True),
        ('cmake_parse_arguments(A "X" "" "" X)\nif(A_X)\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('if(CMAKE_GENERATOR STREQUAL "Ninja")\noption(USE_A "a" ON)\nendif()', "ON", False),
        ('if("a1" MATCHES "\\\\d")\noption(USE_A "a" ON)\nendif()', "ON", False),
        # what is asked for is expected to be found: it is for the gate to see that it was not
        ('option(USE_A "a" ON)\nfind_package(Foo)\nif(NOT Foo_FOUND)\nset(USE_A OFF CACHE BOOL "a" FORCE)\nendif()', "ON", True),
        ('option(USE_A "a" ON)\nfind_package(Foo)\nif(NOT Foo_FOUND)\nreturn()\nendif()\n', "ON", True),
        # a doubt stays where it arose
        ('find_package(Foo)\nif(Foo_FOUND)\nset(Z ON)\nendif()\noption(USE_A "a" ON)', "ON", True),
    ],
)  # fmt: skip
def test_what_hangs_on_the_machine_is_not_told_as_known(
    script: str, value: str | None, is_certain: bool
) -> None:
    """A doubt is told as one, and what is in no doubt stays certain."""
    entry = told({"CMakeLists.txt": script + "\n"})["USE_A"]

    assert (entry.value, entry.is_certain) == (value, is_certain)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"CMakeLists.txt": ""},
        {"CMakeLists.txt": "if("},
        {"CMakeLists.txt": "option(USE_A"},
        {"CMakeLists.txt": "endif()\noption(USE_A)"},
        {"CMakeLists.txt": "option()\nset()\nunset()\ninclude()\nadd_subdirectory()\ncmake_dependent_option()\nfind_package()"},
        {"CMakeLists.txt": "include(CMakeLists.txt)"},
        {"CMakeLists.txt": "add_subdirectory(.)"},
        {"CMakeLists.txt": "macro(m)\nm()\nm()\nendmacro()\nm()"},
        {"CMakeLists.txt": "function(f)\nf()\nf()\nendfunction()\nf()"},
        {"CMakeLists.txt": "include(/etc/passwd)\ninclude(../../x)\nadd_subdirectory(${NOWHERE}/../..)"},
        {"CMakeLists.txt": 'if(("a" MATCHES "(a*)*b"))\nendif()\n' + "if(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa MATCHES (a+)+b)\nendif()"},
        {"CMakeLists.txt": "if(" * 5000},
        {"CMakeLists.txt": "if(NOT " + "(" * 3000 + "A" + ")" * 3000 + ")\nendif()"},
        {"CMakeLists.txt": "\n".join(f"macro(m{n})\nm{n + 1}()\nm{n + 1}()\nendmacro()" for n in range(60)) + "\nm0()"},
        {"CMakeLists.txt": 'set(A "${A}${A}")\n' * 60 + "set(A x)\n" + 'set(A "${A}${A}")\n' * 60},
        {"CMakeLists.txt": "\0\udcff${${${".encode("utf-8", "replace").decode("utf-8", "replace")},
    ],
)  # fmt: skip
def test_a_hostile_tree_costs_neither_time_nor_sense(files: dict[str, str]) -> None:
    """Damaged, endless and self-including files end soon, and tell nothing that is not so."""
    assert told(files).keys() <= {"USE_A"}


def test_a_tree_too_large_to_follow_is_not_half_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not read any more may have changed what was: nothing is told as certain then."""
    monkeypatch.setattr("torchbuild.resolve.cmake_script._MOST_CALLS", 20)
    script = 'option(USE_A "a" ON)\n' + "message(STATUS x)\n" * 20 + 'set(USE_A OFF CACHE BOOL "a" FORCE)\n'
    entry = told({"CMakeLists.txt": script})["USE_A"]

    assert (entry.value, entry.is_certain) == (None, False)


@given(st.text(alphabet='()"#[]=${}\\;\n aiofn_USE1-', max_size=80))
def test_whatever_a_file_holds_is_survived(text: str) -> None:
    """No text makes reading end in anything but an answer."""
    follow({"CMakeLists.txt": text}.get, asked={}, environ={}, machine="x86_64")
