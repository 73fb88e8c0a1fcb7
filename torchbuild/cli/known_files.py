"""What a file or a directory on this machine is to us, from a look at it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from torchbuild.report.text import duration, printable, size

__all__ = ["describe"]

_LARGEST = 8 * 2**20  # no recipe, lock or report is larger; a wheel or a log is not read


def describe(path: Path) -> dict[str, str]:
    """Label -> text; always with ``what``. Nothing in the file is believed or run."""
    try:
        if path.is_dir():
            return _directory(path)
        if path.suffix == ".whl":
            return {"what": "a wheel", "size": size(path.stat().st_size)}
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {"what": "a file that torchbuild did not write"}
        return _content(path.read_text(encoding="utf-8"))
    except OSError as error:
        return {"what": "a path that cannot be read", "why": str(error)}
    except UnicodeDecodeError:
        return {"what": "a file that torchbuild did not write"}


def _directory(path: Path) -> dict[str, str]:
    if (path / "lock.toml").is_file() and (path / "logs").is_dir():
        return {
            "what": f"the workspace of run {printable(path.name)}",
            "logs": str(path / "logs"),
            "enter": f"torchbuild shell {printable(path.name)}",
        }
    return {"what": "a directory that torchbuild did not make"}


def _content(text: str) -> dict[str, str]:
    table = _table(text)
    match table:
        case {"schema": int(), "name": str() as name, "recipe": str() as recipe, "build_requires": [*files]}:
            return {
                "what": f"the lock of recipe {printable(name)}",
                "recipe": f"state {printable(recipe[:12])}",
                "build files": str(len(files)),
            }
        case {"schema": int(), "name": str() as name, "wheel": dict() as wheel}:
            version = printable(str(wheel.get("version", "of no version")))
            return {
                "what": f"a recipe, called {printable(name)}",
                "wheel": f"{printable(str(wheel.get('package', 'torch')))} {version}",
            }
        case {
            "schema": int(),
            "run": str() as run,
            "outcome": str() as outcome,
            "seconds": int() | float() as seconds,
        }:
            return {
                "what": f"the report of run {printable(run)}",
                "outcome": f"{printable(outcome)} after {duration(seconds)}",
            }
        case _:
            return {"what": "a file that torchbuild did not write"}


def _table(text: str) -> Any:  # noqa: ANN401  any TOML or JSON value
    try:
        return json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError):  # both decoders' errors are ValueErrors
        return None
