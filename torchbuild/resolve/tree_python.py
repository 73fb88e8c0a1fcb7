"""What a tree says of the interpreters that it is for, compared with the one that was locked."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from torchbuild.errors import ConflictError
from torchbuild.model.finding import Finding, Outcome

__all__ = ["tree_python"]

_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.[0-9]+)")


def tree_python(pyproject: str, version: str) -> Finding:
    """Whether the tree's pyproject.toml names this Python.

    Args:
        pyproject: its text; empty where the tree has none.
        version: of the interpreter, such as ``3.14.0``.

    Returns:
        Passed where it does, warned where it names others alone, not run where it names none.

    Raises:
        ConflictError: ``python-not-for-tree``: its requires-python excludes the interpreter.
    """
    project = _project(pyproject)
    requires = str(project.get("requires-python", ""))
    if requires and not _holds(requires, version):
        raise ConflictError(
            "python-not-for-tree",
            f"this tree is not for Python {version}",
            why=(
                f"seen Python {version}",
                f"wanted {requires}",
                "source: requires-python in its pyproject.toml",
            ),
            fix="Set python.version to one that the tree is for, or name a later release of the tree.",
        )
    classifiers = project.get("classifiers", [])
    texts = [str(item) for item in classifiers] if isinstance(classifiers, list) else []
    named = [found[1] for text in texts if (found := _CLASSIFIER.fullmatch(text))]
    what = f"Python {version}, by the classifiers in the tree's pyproject.toml"
    if not named:
        return Finding(reference="python-for-tree", outcome="not run", what=f"{what}: it names none")
    is_named = ".".join(version.split(".")[:2]) in named
    outcome: Outcome = "passed" if is_named else "warned"
    wanted = ", ".join(named)
    return Finding(reference="python-for-tree", outcome=outcome, what=what, seen=version, wanted=wanted)


def _holds(requires: str, version: str) -> bool:
    try:
        return SpecifierSet(requires).contains(version, prereleases=True)
    except InvalidSpecifier:  # whoever builds with it will say so
        return True


def _project(pyproject: str) -> dict[str, Any]:
    """The table ``project``; a file that cannot be read is told where the front end is looked for."""
    try:
        project = tomllib.loads(pyproject).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return project if isinstance(project, dict) else {}
