"""Bytes that no digest vouches for must at least begin like the file."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from torchbuild.edges.file_kinds import refuse_other_kind
from torchbuild.errors import FetchError

PAGE = b"\n<!DOCTYPE html><html><body>Please accept the terms</body></html>"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("nccl.txz", lzma.compress(b"x")),
        ("cuda.tar.xz", lzma.compress(b"")),
        ("cuda_12.4.1_linux.run", b"#!/bin/sh\n"),
        ("x.whl", b"PK\x03\x04"),
        ("x.bin", b"anything"),
    ],
)
def test_what_begins_as_it_should_passes(tmp_path: Path, name: str, body: bytes) -> None:
    """By the name's ending; where that says nothing, anything but a page."""
    (tmp_path / "part").write_bytes(body)

    refuse_other_kind(tmp_path / "part", name, "https://example.org/x")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("nccl.txz", PAGE),
        ("x.bin", PAGE),
        ("x.bin", b""),
        ("nccl.txz", b"\x1f\x8b"),
        ("cuda_12.4.1_linux.run", b"\x7fELF"),
        ("x.tar.gz", b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
    ],
)
def test_a_page_or_another_kind_is_refused(tmp_path: Path, name: str, body: bytes) -> None:
    """A portal's page with status 200 is never trusted; the error shows how it begins."""
    (tmp_path / "part").write_bytes(body)
    with pytest.raises(FetchError) as caught:
        refuse_other_kind(tmp_path / "part", name, "https://example.org/x")

    assert caught.value.reference == "not-the-file"
    assert name in caught.value.what
