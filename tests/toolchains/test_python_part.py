"""The interpreter as a part."""

from __future__ import annotations

import pytest

from torchbuild.model.lock import LockedPython
from torchbuild.toolchains.python_part import builder_part, is_free_threaded, is_version

SOABI = "cpython-313-x86_64-linux-gnu"
FREE = "cpython-313t-x86_64-linux-gnu"
PYTHON = LockedPython(
    executable="/usr/bin/python3.13",
    version="3.13.5",
    soabi=SOABI,
    tag="cp313",
    include="/usr/include/python3.13",
)


def test_a_builders_interpreter_is_a_part_without_pieces() -> None:
    """It is found and not made; what it said when it was locked is what it must say."""
    part = builder_part("system", PYTHON)

    assert (part.prefix, part.version, part.is_ours) == ("/usr", "3.13.5", False)
    assert part.says == {
        "executable": "/usr/bin/python3.13",
        "free_threaded": "no",
        "include": "/usr/include/python3.13",
        "soabi": SOABI,
    }


@pytest.mark.parametrize(
    ("soabi", "free"),
    [
        (SOABI, False),
        (FREE, True),
        ("cpython-38-x86_64-linux-gnu", False),
        ("cpython-37m-x", False),
        ("", False),
    ],
)
def test_an_abi_tells_whether_there_is_a_global_lock(soabi: str, free: bool) -> None:
    """Its second part has a t."""
    assert is_free_threaded(soabi) is free


@pytest.mark.parametrize(
    ("wanted", "soabi", "is_it"),
    [
        ("3.13", SOABI, True),
        ("3.13.5", SOABI, True),
        ("3.1", SOABI, False),
        ("3.13", FREE, False),
        ("3.13t", FREE, True),
        ("3.13t", SOABI, False),
        ("3.13.5t", FREE, True),
    ],
)
def test_a_version_is_meant_with_its_threading(wanted: str, soabi: str, is_it: bool) -> None:
    """Who asks for 3.13 does not get 3.13t, nor the other way round."""
    assert is_version(wanted, "3.13.5", soabi) is is_it
