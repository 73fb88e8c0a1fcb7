"""The shapes of a recipe's words."""

from __future__ import annotations

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from torchbuild.model.recipe_words import (
    IMAGE,
    LOCAL,
    MODULE,
    PATTERNS,
    BuilderPath,
    CudaVersion,
    GpuArch,
    Release,
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_shape_is_told_in_words(pattern: str) -> None:
    """A person is not shown a regular expression."""
    assert re.compile(pattern)
    assert not PATTERNS[pattern].startswith("^")


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [(IMAGE, "localhost/builder:1", "Builder"), (LOCAL, "cu124", "CU124"), (MODULE, "torch", "2torch")],
)
def test_shapes_that_others_use_tell_good_from_bad(pattern: str, good: str, bad: str) -> None:
    """A name that an engine or an index would refuse is refused first."""
    assert re.fullmatch(pattern, good)
    assert not re.fullmatch(pattern, bad)


PATH, CUDA = TypeAdapter[str](BuilderPath), TypeAdapter[str](CudaVersion)
ARCH, RELEASE = TypeAdapter[str](GpuArch), TypeAdapter[str](Release)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        *((PATH, text) for text in ("/usr", "/usr/local/cuda-12.4/", "/opt/.hidden/a+b", "/opt/x..y")),
        *((CUDA, text) for text in ("12.4", "12.4.1", "11.0.194")),
        *((ARCH, text) for text in ("5.0", "9.0a", "12.0f+PTX")),
        *((RELEASE, text) for text in ("3.13t", "2.21.5-1", "9.1.0.70", "2.0.0rc1", "2.21.5-1+")),
    ],
)
def test_words_that_are_meant_are_taken(shape: TypeAdapter[str], text: str) -> None:
    """As publishers and distributions write them."""
    assert shape.validate_python(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "x", "~/x", "/usr/../etc", "/usr/./x", "//usr", "/a b", "/a:/b", "/a;b", "/a$b", "/a'b"),
        *("/a\nb", "/a\n", "{store}/x", "/{store}", "/a\\b", "/a\0", "/" + "a" * 1000),
    ],
)
def test_a_path_of_the_builder_splits_no_list_and_leaves_no_folder(text: str) -> None:
    """It becomes a part of PATH, of lists of CMake and of command lines."""
    with pytest.raises(ValidationError):
        PATH.validate_python(text)


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "1.",
        "12.4.",
        "012.4.1",
        "12.04",
        "12.4.1.9",
        "12.4.1+x",
        "12.4rc1",
        "12." + "4" * 5000,
        "12.4\n",
    ],
)
def test_a_release_of_the_toolkit_is_two_or_three_numbers(text: str) -> None:
    """Every provider reads it, and each of these would be another thing to one of them."""
    with pytest.raises(ValidationError):
        CUDA.validate_python(text)


@pytest.mark.parametrize("text", ["0.0", "09.0", "120.0", "9", "9.0b", "9.0+ptx"])
def test_what_no_chip_is_called_is_no_architecture(text: str) -> None:
    """A list of them would compile for nothing."""
    with pytest.raises(ValidationError):
        ARCH.validate_python(text)


@pytest.mark.parametrize("text", ["1.", "x", "1" * 65, ""])
def test_a_release_is_short_and_ends_with_a_word(text: str) -> None:
    """Thousands of digits are no release, and reading them as a number takes long."""
    with pytest.raises(ValidationError):
        RELEASE.validate_python(text)
