"""Name, version and requirements are the ones asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import failures


def _failed(wheel: Path, expected: ExpectedWheel) -> list[tuple[str, str]]:
    return [(found.reference, found.seen) for found in failures(inspect_wheel(wheel, expected))]


def test_other_version_is_refused_in_all_three_places(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A version other than the lock's is named wherever the wheel carries it."""
    wheel = make_wheel(good_members, version="2.6.0+debian")

    assert _failed(wheel, expected) == [("wheel-metadata", "2.6.0+debian")] * 3


def test_local_label_counts(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """`2.6.0` is not `2.6.0+cpu`."""
    asked = expected.model_copy(update={"version": "2.6.0+cpu"})

    assert {("wheel-metadata", "2.6.0")} == set(_failed(make_wheel(good_members), asked))


def test_spellings_of_one_version_are_equal(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A version is compared as PEP 440 reads it."""
    asked = expected.model_copy(update={"version": "2.6.0.alpha1+CU118"})

    assert _failed(make_wheel(good_members, version="2.6.0a1+cu118"), asked) == []


def test_name_is_normalised(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """`Torch_Vision` and `torch-vision` are one name, `torch` is another."""
    wheel = make_wheel(good_members, name="torch_vision")

    assert _failed(wheel, expected.model_copy(update={"distribution": "Torch-Vision"})) == []
    assert {("wheel-metadata", "torch_vision"), ("wheel-metadata", "torch-vision")} == set(
        _failed(wheel, expected)
    )


def test_metadata_that_disagrees_with_the_file_name_is_refused(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Metadata that names something else than the file is found."""
    wheel = make_wheel(good_members, replace={"@METADATA": b"Name: numpy\nVersion: 1.0\n\n"})

    found = _failed(wheel, expected)

    assert ("wheel-metadata", "numpy") in found
    assert ("wheel-metadata", "1.0") in found


@pytest.mark.parametrize(
    ("requires", "seen"),
    [
        (("filelock", "sympy == 1.13.1"), []),
        (("SymPy==1.13.1", "filelock"), []),
        (("filelock",), ["nothing"]),
        (("filelock", "sympy==1.13.3"), ["nothing", "sympy==1.13.3"]),
        (("filelock", "sympy==1.13.1", "numpy; extra == 'np'"), ['numpy; extra == "np"']),
        (("filelock", "sympy==1.13.1", "!!"), ["!!"]),
    ],
    ids=["spaces", "case and order", "one missing", "other pin", "one more", "no requirement"],
)
def test_requirements_are_compared_as_a_set(
    make_wheel: Callable[..., Path],
    good_members: dict[str, bytes],
    expected: ExpectedWheel,
    requires: tuple[str, ...],
    seen: list[str],
) -> None:
    """Requirements may be spelled and ordered otherwise, but must be the same."""
    found = _failed(make_wheel(good_members, requires=requires), expected)

    assert [("wheel-requirements", value) for value in seen] == found


def test_metadata_in_no_encoding_is_still_read(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Bytes that are no UTF-8 end in findings that can be shown."""
    wheel = make_wheel(good_members, replace={"@METADATA": b"Name: t\xffrch\x1b[31m\nVersion: \x00\n\n"})

    found = failures(inspect_wheel(wheel, expected))

    assert any(finding.seen == "t\\xffrch\\x1b[31m" for finding in found)
    assert all(finding.seen.isprintable() for finding in found)
