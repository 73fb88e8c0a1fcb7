"""Is everything here that ``make`` needs? Names what is missing, and the command that installs it.

Standard library only, and written for Python 3.6, so that an old Python can say that it is too old.
"""
# ruff: noqa: INP001, TID251  a script reads its environment

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

__all__ = ["Missing", "main", "missing", "package_names", "read_release", "read_table", "report"]

WANTED = (3, 11)
TABLE = Path(__file__).resolve().parent / "packages.txt"
OS_RELEASE = Path(os.environ.get("TORCHBUILD_OS_RELEASE", "/etc/os-release"))
COLUMNS = ("install", "git", "compiler", "python", "venv", "headers")


class Missing(NamedTuple):
    """One thing that is not here."""

    what: str
    why: str
    column: str
    """The column of the table that names its package."""


def main() -> int:
    """Exit code 0 where nothing is missing."""
    found = missing()
    if found:
        names = package_names(read_release(OS_RELEASE), read_table(TABLE))
        sys.stderr.write(report(found, names, "" if os.geteuid() == 0 else "sudo "))
    return 1 if found else 0


def missing() -> "list[Missing]":
    """What is not here."""
    found = []
    if sys.version_info[:2] < WANTED:
        seen, wanted = (".".join(map(str, version)) for version in (sys.version_info[:2], WANTED))
        why = f"{sys.executable} is Python {seen}, wanted {wanted} or newer"
        found.append(Missing("Python is too old", why, "python"))
    elif not _can_make_environments():
        why = f"{sys.executable} has no venv and ensurepip"
        found.append(Missing("Python cannot make environments", why, "venv"))
    elif not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
        why = f"{sys.executable} has no Python.h: no extension can be compiled for it"
        found.append(Missing("Python's headers are not installed", why, "headers"))
    if shutil.which("git") is None:
        found.append(Missing("git is not installed", "no git on PATH", "git"))
    compilers = [*os.environ.get("CXX", "").split()[:1], "c++", "g++", "clang++"]
    if not any(shutil.which(name) for name in compilers):
        found.append(Missing("no C++ compiler is installed", "no c++, g++ or clang++ on PATH", "compiler"))
    return found


def _can_make_environments() -> bool:
    """Some distributions ship a Python without these two modules."""
    try:
        import ensurepip  # noqa: F401, PLC0415  the import is the question
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def report(found: "list[Missing]", names: "dict[str, str] | None", prefix: str) -> str:
    """What is missing and what to type, as text.

    Args:
        found: what is missing, at least one.
        names: this distribution's row of the table; None where it has none.
        prefix: what makes a command root's, such as ``sudo``.
    """
    lines = []
    for item in found:
        lines += [f"error: {item.what}", f"  why   {item.why}"]
    version = ".".join(map(str, sys.version_info[:2]))
    named = [names[item.column].replace("{version}", version) for item in found] if names else []
    packages = [package for package in named if package != "-"]
    if names and packages:
        lines.append(f"  fix   {prefix}{names['install']} {' '.join(packages)}")
    else:
        lines.append("  fix   install what is missing with your package manager, then run make again")
    if any(item.column in ("python", "venv", "headers") for item in found):
        lines.append("        or name another Python: make PYTHON=/path/to/python3.12")
    return "\n".join(lines) + "\n"


def package_names(release: "dict[str, str]", table: "dict[str, dict[str, str]]") -> "dict[str, str] | None":
    """The row of this distribution, or of one that it is like."""
    for word in [release.get("ID", ""), *release.get("ID_LIKE", "").split()]:
        if word in table:
            return table[word]
    return None


def read_table(path: Path) -> "dict[str, dict[str, str]]":
    """Distribution -> column -> package."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, *cells = (cell.strip() for cell in line.split("|"))
            table[name] = {column: cells[index] for index, column in enumerate(COLUMNS)}
    return table


def read_release(path: Path) -> "dict[str, str]":
    """ID, ID_LIKE and the rest of an os-release file; empty where there is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.strip().partition("=") for line in lines)
    return {name: value.strip("\"'") for name, _, value in pairs}


if __name__ == "__main__":
    sys.exit(main())
