"""Values that nobody can weigh are told, each with how it is written."""

from __future__ import annotations

import pytest

from torchbuild.advice.readable import unreadable
from torchbuild.advice.wish import Wish

PLAIN = Wish(
    torch="2.6.0",
    driver="535.129.03",
    glibc="2.28",
    python="3.13t",
    gcc="13.3",
    cudnn="9.1.0.70",
    nccl="none",
    builder_glibc="2.36",
)


def test_what_people_write_is_read() -> None:
    """A whole wish and an empty one have nothing unreadable."""
    assert list(unreadable(PLAIN)) == []
    assert list(unreadable(Wish(torch="2.6"))) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("torch", "main"),
        ("driver", "latest"),
        ("glibc", "2"),
        ("python", "three"),
        ("gcc", "clang"),
        ("cudnn", "newest"),
        ("nccl", "2.x"),
        ("builder_glibc", "\u0662.\u0663"),
        ("torch", "2.6" + "0" * 5000),
    ],
)
def test_what_is_none_is_named_with_its_form(field: str, value: str) -> None:
    """One conflict for the field, with what was written and how it is written."""
    (found,) = unreadable(PLAIN.model_copy(update={field: value}))
    assert found.reference == "wish-unreadable"
    assert [item.row for item in found.facts] == [field, field]
    assert "written like" in found.facts[1].says
