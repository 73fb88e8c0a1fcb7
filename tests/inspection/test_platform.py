"""What platform tags promise."""

from __future__ import annotations

import pytest

from torchbuild.inspection.platform import glibc_promised, release


@pytest.mark.parametrize(
    ("tag", "promised"),
    [
        ("manylinux_2_28_x86_64", "2.28"),
        ("manylinux2014_aarch64", "2.17"),
        ("manylinux1_x86_64", "2.5"),
        ("linux_x86_64", None),
        ("manylinux_x86_64", None),
    ],
)
def test_tags_promise_a_c_library(tag: str, promised: str | None) -> None:
    """PEP 600 tags carry it, the older ones stand in a table, others promise none."""
    assert promised == glibc_promised(tag)


def test_releases_compare_as_numbers() -> None:
    """Dotted numbers are numbers; what is none is None."""
    assert release("2.28") == (2, 28)
    assert None is release("PRIVATE")
    assert None is release("2.٣")
