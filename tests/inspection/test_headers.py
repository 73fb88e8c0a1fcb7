"""METADATA and WHEEL are read whatever their bytes are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.archive import opened
from torchbuild.inspection.headers import headers


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"Name: torch\n\nName: body\n", "torch"),
        (b"name:torch\r\nVersion: 1\r\n", "torch"),
        (b"Name: t\xff\n", "t\\xff"),
        (b"no header at all", None),
        (b"", None),
    ],
    ids=["body is no header", "case and line ends", "not UTF-8", "no header", "empty"],
)
def test_headers_are_read(make_wheel: Callable[..., Path], content: bytes, name: str | None) -> None:
    """Headers end at the first empty line; bytes that are no UTF-8 become visible."""
    with opened(make_wheel({"torch/x.py": b""}, replace={"@METADATA": content})) as contents:
        found = headers(contents, "METADATA")

    assert found is not None
    assert found.get("Name") == name


def test_missing_file_is_none(make_wheel: Callable[..., Path]) -> None:
    """With two metadata directories there are no headers to trust."""
    with opened(make_wheel({"other-1.dist-info/METADATA": b"Name: other\n"})) as contents:
        assert headers(contents, "METADATA") is None
