"""What a tree says of interpreters."""

from __future__ import annotations

import pytest

from torchbuild.errors import ConflictError
from torchbuild.resolve.tree_python import tree_python

CLASSIFIERS = """
classifiers = [
  "Programming Language :: Python :: 3 :: Only",
  "Programming Language :: Python :: 3.12",
  "Programming Language :: Python :: 3.13",
  "Programming Language :: C++",
]
"""


@pytest.mark.parametrize(
    ("project", "version", "outcome"),
    [
        (CLASSIFIERS, "3.13.5", "passed"),
        (CLASSIFIERS, "3.14.0", "warned"),
        (CLASSIFIERS + "requires-python = '>=3.10'", "3.13.5", "passed"),
        ("requires-python = '>=3.10,<3.99'", "3.13.5", "not run"),
        ("requires-python = 'whatever'", "3.13.5", "not run"),
        ("classifiers = 3", "3.13.5", "not run"),
        ("dynamic = ['classifiers', 'requires-python']", "3.13.5", "not run"),
    ],
)
def test_a_tree_names_the_interpreters_it_is_for(project: str, version: str, outcome: str) -> None:
    """One that it does not name is suspicious; where it names none, nobody says that it fits."""
    found = tree_python(f"[project]\n{project}\n", version)

    assert (found.reference, found.outcome) == ("python-for-tree", outcome)
    assert outcome != "warned" or (found.seen, found.wanted) == ("3.14.0", "3.12, 3.13")


@pytest.mark.parametrize(
    "pyproject", ["", "[", "project = 3", "[" * 3000], ids=["none", "broken", "text", "deep"]
)
def test_a_tree_that_says_nothing_is_not_said_to_fit(pyproject: str) -> None:
    """A file that cannot be read is told by who looks for its front end."""
    assert tree_python(pyproject, "3.13.5").outcome == "not run"


def test_an_interpreter_that_a_tree_excludes_is_refused() -> None:
    """Its wheel could not be installed into that interpreter."""
    with pytest.raises(ConflictError) as caught:
        tree_python("[project]\nrequires-python = '>=3.9,<3.14'\n", "3.14.0")

    assert caught.value.reference == "python-not-for-tree"
    assert "wanted >=3.9,<3.14" in caught.value.why
