"""Interpreters that a build could take."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_programs import Answer, Found, Programs
from torchbuild.edges.host_pythons import Named, interpreter_told, look_at_python, python_blank, pythons_of

TOLD = {
    "version": "3.11.2",
    "is_venv": True,
    "base": "/usr/bin/python3.11",
    "include": "/usr/include/python3.11",
    "numpy": "2.1.3",
    "machine": "x86_64",
    "is_free_threaded": False,
    "is_shared": True,
    "nccls": ["nvidia-nccl-cu12 2.21.5"],
    "gone": [],
}


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


def in_path(*paths: str) -> Programs:
    """Programs at these paths."""
    return Programs([Found(path.rpartition("/")[2], path, path) for path in paths])


def test_interpreters_stand_in_order() -> None:
    """The recipe's, the environments', PATH's, and the one that runs us; each path once."""
    environ = {"VIRTUAL_ENV": "/venv/", "CONDA_PREFIX": "/conda"}
    found = pythons_of(
        "/opt/python", environ, in_path("/venv/bin/python", "/venv/bin/python3", "/usr/bin/python3")
    )

    assert [(named.path, named.found_by) for named in found] == [
        ("/opt/python", "recipe"),
        ("/venv/bin/python", "VIRTUAL_ENV"),
        ("/conda/bin/python", "CONDA_PREFIX"),
        ("/venv/bin/python3", "PATH"),
        ("/usr/bin/python3", "PATH"),
        (sys.executable, "torchbuild"),
    ]


def test_of_many_in_path_the_first_few_are_asked() -> None:
    """A long PATH costs no long wait."""
    many = in_path(*(f"/opt/{number}/python3" for number in range(9)))

    assert [named.found_by for named in pythons_of("", {}, many)] == ["PATH", "PATH", "PATH", "torchbuild"]


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("3.12", "/usr/bin/python3.12"),
        ("python3.12", "/usr/bin/python3.12"),
        ("/opt/py/bin/python", "/opt/py/bin/python"),
        ("3.1", "python3.1"),
        ("3.12.4", "/usr/bin/python3.12"),
        ("3.13t", "/usr/bin/python3.13t"),
    ],
    ids=["version", "name", "path", "absent", "one release", "free-threaded"],
)
def test_the_recipes_is_found_by_path_name_or_version(wanted: str, path: str) -> None:
    """One that is not there stays in the list, so that its absence is told."""
    found = pythons_of(wanted, {}, in_path("/usr/bin/python3.12", "/usr/bin/python3.13t"))

    assert (found[0].path, found[0].found_by) == (path, "recipe")


def test_an_interpreter_says_what_it_is(glances: Glances) -> None:
    """Whatever variables the caller has: they would reach another one."""
    named = Named(sys.executable, "recipe")
    seen = look_at_python(named, {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"}, glances)

    assert (seen.version, seen.why) == (".".join(map(str, sys.version_info[:3])), "")
    assert seen.is_venv is (sys.prefix != sys.base_prefix)
    assert Path(seen.base).is_file()


def test_an_interpreter_that_does_not_start_is_told(tmp_path: Path, glances: Glances) -> None:
    """With its own word: the rest of an environment whose interpreter was removed."""
    (tmp_path / "python").symlink_to("/usr/bin/python3.1")
    seen = look_at_python(Named(f"{tmp_path}/python", "VIRTUAL_ENV"), {}, glances)

    assert (seen.version, seen.why) == ("", f"{tmp_path}/python: No such file or directory")
    assert look_at_python(Named("python3.9", "recipe"), {}, glances).why == "no such program in PATH"


def test_an_answer_is_taken_as_it_is() -> None:
    """All fields of it."""
    seen = interpreter_told(Named("/venv/bin/python", "PATH"), Answer(json.dumps(TOLD), ""))

    assert (seen.numpy, seen.nccls, seen.is_shared) == ("2.1.3", ("nvidia-nccl-cu12 2.21.5",), True)
    assert (seen.path, seen.found_by, seen.base) == ("/venv/bin/python", "PATH", "/usr/bin/python3.11")


def test_what_is_printed_before_and_after_an_answer_is_no_harm() -> None:
    """A .pth or a sitecustomize of the environment may print; the interpreter is a sound one."""
    said = Answer(f'banner\n{{"a": 1}}\n{json.dumps(TOLD)}\nbye\n', "")

    assert interpreter_told(Named("/x", "recipe"), said).version == "3.11.2"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, "hello", json.dumps({**TOLD, "version": 3}), json.dumps({**TOLD, "more": 1})],
)
def test_an_answer_that_is_none_is_told(text: str) -> None:
    """Another program of that name, or one that prints before it starts."""
    assert interpreter_told(Named("/x", "PATH"), Answer(text, "")).why.startswith("no interpreter: it says")


def test_one_that_was_not_heard_of_is_listed() -> None:
    """With its path."""
    assert python_blank(Named("/x", "PATH")).why == "no answer"
