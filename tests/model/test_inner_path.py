"""Paths that stay inside."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from torchbuild.model.inner_path import InnerPath, leaves


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "a",
        "a/b",
        "a/../b",
        "./a",
        "..a",
        "a/..",
        "a/b/../..",
        "...",
        "a//b",
        ".gitmodules",
        "a/.github",
    ],
)
def test_what_stays_inside_may_be_named(path: str) -> None:
    """A relative path that does not climb out is fine, however it is written."""
    assert not leaves(path)
    assert TypeAdapter(InnerPath).validate_python(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/etc",
        "//etc",
        "..",
        "../a",
        "a/../..",
        "a/../../b",
        "./..",
        "a\0b",
        ".git",
        "a/.git/hooks",
        ".GIT/config",
        "./.git",
    ],
)
def test_what_leaves_is_refused(path: str) -> None:
    """No recipe and no lock can name a place outside of the tree."""
    assert leaves(path)
    with pytest.raises(ValidationError, match="stays inside"):
        TypeAdapter(InnerPath).validate_python(path)
