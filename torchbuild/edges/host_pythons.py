"""Interpreters that a build could take, each asked once."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from torchbuild.edges.host_programs import Answer, ask, plain_environ, table_told
from torchbuild.model.frozen import frozen_value
from torchbuild.model.host import Interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_glances import Glances
    from torchbuild.edges.host_programs import Programs

__all__ = ["PYTHONS", "Named", "interpreter_told", "look_at_python", "python_blank", "pythons_of"]

PYTHONS = r"python(?:3(?:\.[0-9]+t?)?)?"
"""Names of interest."""

_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")
_MOST_IN_PATH = 3
_FOLDERS = ("/usr/local/bin", "/usr/bin")
_LOOK = Path(__file__).resolve().parents[1] / "shim" / "look_interpreter.py"


class Named(NamedTuple):
    """An interpreter by its path."""

    path: str
    found_by: str

    def __str__(self) -> str:
        return self.path


def pythons_of(wanted: str, environ: Mapping[str, str], programs: Programs) -> tuple[Named, ...]:
    """The recipe's, the environments', PATH's, our own; each path once.

    Args:
        wanted: a path, a name such as ``python3.11``, or a version such as ``3.11``; empty for none.
        environ: names the environments.
        programs: what is in PATH.
    """
    found = [Named(path, "recipe") for path in _of_recipe(wanted, programs)] if wanted else []
    there = [name for name in _ENVIRONMENTS if environ.get(name, "").startswith("/")]
    found += [Named(f"{environ[name].rstrip('/')}/bin/python", name) for name in there]
    in_path = programs.matching("python3")[:_MOST_IN_PATH] or programs.matching("python")[:1]
    found += [Named(program.path, "PATH") for program in in_path]
    found.append(Named(sys.executable, "torchbuild"))
    once: dict[str, Named] = {}
    for named in found:
        once.setdefault(named.path, named)
    return tuple(once.values())


def _of_recipe(wanted: str, programs: Programs) -> tuple[str, ...]:
    """Where it may be: PATH's, else the system's, as a lock looks for it: a version manager's may not start.

    A name that leads nowhere stays one, so that its absence is told.
    """
    if "/" in wanted:
        return (wanted,)
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(?:\.[0-9]+)*(t?)", wanted)
    name = f"python{match[1]}{match[2]}" if match else wanted
    own = [f"{folder}/{name}" for folder in _FOLDERS if os.access(f"{folder}/{name}", os.X_OK)]
    return tuple(filter(None, (programs.first(name), *own))) or (name,)


def look_at_python(named: Named, environ: Mapping[str, str], glances: Glances) -> Interpreter:
    """What it says of itself, whatever the caller's variables would make it say."""
    if not named.path.startswith("/"):
        return python_blank(named, "no such program in PATH")
    return interpreter_told(named, ask([named.path, "-I", str(_LOOK)], plain_environ(environ), glances))


def interpreter_told(named: Named, answer: Answer) -> Interpreter:
    """What stands in the answer of `torchbuild.shim.look_interpreter`."""
    if answer.why:
        return python_blank(named, answer.why)
    try:
        told = {name: frozen_value(value) for name, value in table_told(answer.text).items()}
        return Interpreter.model_validate({"path": named.path, "found_by": named.found_by, **told})
    except (ValueError, ValidationError):
        return python_blank(named, f"no interpreter: it says {answer.text.strip()[:200]!r}")


def python_blank(named: Named, why: str = "no answer") -> Interpreter:
    """One of which nothing is known."""
    return Interpreter(
        path=named.path, version="", is_venv=False, base="", include="", numpy="",
        found_by=named.found_by, why=why,
    )  # fmt: skip
