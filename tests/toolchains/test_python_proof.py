"""Proof of an interpreter."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.artifact import Artifact
from torchbuild.model.finding import Finding
from torchbuild.model.lock import LockedPython
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.python_part import builder_part, described
from torchbuild.toolchains.python_proof import CHECKS, numpy_finding

WANTED = Wanted(torch="2.6.0", machine="x86_64", cxx="/usr/bin/g++")
PYTHON = LockedPython(
    executable="/usr/bin/python3.13",
    version="3.13.5",
    soabi="cpython-313-x86_64-linux-gnu",
    tag="cp313",
    include="/usr/include/python3.13",
)
PIECE = LockedPiece(artifact=Artifact(locator="x:a/b", sha256="ab" * 32), strip=1)
SYSTEM = builder_part("system", PYTHON)
OURS = described(
    LockedPart(
        name="python", provider="uv", version="3.13.5", prefix="/torchbuild/parts/python", pieces=(PIECE,)
    ),
    PYTHON,
)
SEEN: dict[str, Any] = {
    "executable": "/usr/bin/python3.13",
    "kind": "program",
    "is_venv": False,
    "version": "3.13.5",
    "soabi": "cpython-313-x86_64-linux-gnu",
    "machine": "x86_64",
    "bits": 64,
    "free_threaded": "no",
    "include": "/usr/include/python3.13",
    "headers": True,
    "shared": True,
    "libdir": "/usr/lib",
    "libdir_found": True,
    "library": "/usr/lib/libpython3.13.so.1.0",
    "library_found": True,
    "gone": {},
    "tools_missing": {},
    "extension": "",
}
FREE = {"free_threaded": "yes", "soabi": "cpython-313t-x86_64-linux-gnu"}


def proof(part: LockedPart = SYSTEM, wanted: Wanted = WANTED, **changed: Any) -> tuple[Finding, ...]:
    """What is found where something is otherwise."""
    return judge(CHECKS, part, wanted, SEEN | changed)


def other(*findings: Finding) -> dict[str, str]:
    """Those that did not pass: outcome by reference."""
    return {item.reference: item.outcome for item in findings if item.outcome != "passed"}


def test_a_whole_interpreter_passes() -> None:
    """Each check looks at something, and none complains."""
    assert other(*proof()) == {}
    assert len(proof()) >= len(CHECKS)


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({"version": "3.13.6"}, "python-version"),
        ({"soabi": "cpython-313d-x86_64-linux-gnu"}, "python-abi"),
        ({"executable": "/root/.pyenv/versions/3.13.5/bin/python3.13"}, "python-path"),
        ({"kind": "script"}, "python-path"),
        ({"kind": ""}, "python-path"),
        ({"machine": "aarch64"}, "python-machine"),
        ({"bits": 32}, "python-machine"),
        ({"headers": False}, "python-headers"),
        ({"include": "/usr/local/include/python3.13"}, "python-headers"),
        ({"libdir_found": False}, "python-libdir"),
        ({"library_found": False}, "python-library"),
        ({"free_threaded": "yes"}, "python-free-threaded"),
        ({"extension": "gcc: exit code 1: Python.h: No such file"}, "python-extension"),
    ],
    ids=str,
)
def test_what_is_not_as_locked_fails_by_name(changed: dict[str, Any], reference: str) -> None:
    """One thing is wrong, and one check says so, with what it saw."""
    found = proof(**changed)

    assert other(*found) == {reference: "failed"}
    (wrong,) = (item for item in found if item.outcome == "failed")
    assert wrong.seen
    assert wrong.wanted


@pytest.mark.parametrize(
    ("part", "outcome"), [(SYSTEM, "warned"), (OURS, "failed")], ids=["builder's", "ours"]
)
def test_paths_of_another_machine_in_its_options_are_told(part: LockedPart, outcome: str) -> None:
    """One of ours was to be completed; a builder's own may work nevertheless, as its own extension shows."""
    found = proof(part, gone={"LDFLAGS": ["-L/install/lib"], "CFLAGS": ["-I/tools/include"]})

    assert other(*found) == {"python-options": outcome}
    assert any(item.seen == "-I/tools/include, -L/install/lib" for item in found)


def test_tools_of_another_machine_are_told_alone() -> None:
    """The build calls the recipe's compilers."""
    assert other(*proof(tools_missing={"CC": "clang"})) == {"python-tools": "warned"}


def test_a_static_library_matters_where_it_cannot_be_linked() -> None:
    """Of a free-threaded interpreter: it is said before the linker says it in its own words."""
    part = builder_part("system", PYTHON.model_copy(update={"soabi": FREE["soabi"]}))

    assert other(*proof(shared=False, library_found=False)) == {}
    assert other(*proof(part, shared=False, **FREE)) == {"python-static-library": "warned"}
    assert other(*proof(part, **FREE)) == {}


@pytest.mark.parametrize(
    ("torch", "version", "outcome"),
    [("2.6.0", "3.14.0", "warned"), ("2.9.0", "3.14.0", "warned"), ("2.10.0", "3.14.0", "passed"), ("", "3.14.0", "not run"), ("9.0", "3.14.0", "not run")],
)  # fmt: skip
def test_a_release_that_is_for_older_interpreters_is_suspicious(
    torch: str, version: str, outcome: str
) -> None:
    """A table says so, so that it is no refusal; and of a release that nobody read nothing is said."""
    part = builder_part("system", PYTHON.model_copy(update={"version": version}))
    found = judge({"release": CHECKS["release"]}, part, WANTED.model_copy(update={"torch": torch}), SEEN)

    assert [item.outcome for item in found] == [outcome]


@pytest.mark.parametrize(
    "seen", [{}, {"gone": 3, "tools_missing": [], "extension": None, "shared": 1}], ids=["none", "other"]
)
def test_what_was_not_seen_is_never_as_wanted(seen: dict[str, Any]) -> None:
    """A script that answers nothing, or something else, proves nothing."""
    found = judge(CHECKS, SYSTEM, WANTED, seen)

    wrong = {item.reference for item in found if item.outcome == "failed"}
    assert {"python-version", "python-abi", "python-path", "python-machine", "python-headers"} <= wrong
    assert {"python-libdir", "python-free-threaded", "python-extension"} <= wrong


@pytest.mark.parametrize(
    ("release", "version", "outcome"),
    [
        ("2.6.0", "2.1.0", "passed"),
        ("2.6.0", "1.26.4", "warned"),
        ("2.2.0", "1.26.4", "passed"),
        ("2.2.0", "2.1.0", "warned"),
        ("2.6.0", "", "not run"),
        ("1.4.0", "1.26.4", "not run"),
    ],
)
def test_the_numpy_that_a_wheel_is_made_against_is_weighed(release: str, version: str, outcome: str) -> None:
    """Made against 1 it does not work with 2, though its tree could; what it is made against is no refusal."""
    assert numpy_finding(release, version).outcome == outcome
