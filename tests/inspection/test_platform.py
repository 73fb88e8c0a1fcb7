"""The platform policy is data with sources, and answers by machine."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from torchbuild.inspection.platform import glibc_promised, platform_libraries, release


def test_policy_depends_on_the_machine() -> None:
    """Each machine has its own loader and no libgomp."""
    assert "ld-linux-x86-64.so.2" in platform_libraries("x86_64")
    assert "ld-linux-aarch64.so.1" in platform_libraries("aarch64")
    assert "ld-linux-x86-64.so.2" not in platform_libraries("aarch64")
    assert "libgomp.so.1" not in platform_libraries("x86_64")
    assert frozenset() == platform_libraries("riscv64")


def test_every_row_has_source_and_date() -> None:
    """A fact without source and date is no fact; rows are sorted."""
    file = resources.files("torchbuild") / "knowledge" / "data" / "platform_libraries.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))

    assert all(row["source"] and row["checked"] for rows in table.values() for row in rows)
    sonames = [row["soname"] for row in table["library"]]
    assert sorted(set(sonames)) == sonames


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
