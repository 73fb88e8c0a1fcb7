"""What uv says of the interpreters that it manages: the real uv, without a network."""

from __future__ import annotations

import json
import re

import pytest

from torchbuild.edges import uv_python
from torchbuild.edges.uv_python import uv_document
from torchbuild.errors import HostError


def test_uv_lists_its_interpreters() -> None:
    """Those of one processor family, each with its address."""
    rows = json.loads(uv_document("uv:python-downloads/aarch64"))

    assert {row["arch"] for row in rows} == {"aarch64"}
    found = [row for row in rows if row["key"] == "cpython-3.12.8-linux-aarch64-gnu"]
    assert re.search(r"/[0-9]{8}/cpython-3\.12\.8%2B", found[0]["url"])


def test_uv_tells_the_digest_of_an_archive() -> None:
    """It is uv's own, from inside uv: the same each time, and another for each archive."""
    told = [
        uv_document(f"uv:python-digest/{machine}/cpython-3.12.8-linux-{machine}-gnu")
        for machine in ("x86_64", "x86_64", "aarch64")
    ]

    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in told)
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("key", ["nothing", "cpython-3.12.8-linux-aarch64-gnu", "", "--help"])
def test_of_what_uv_does_not_know_it_tells_none(key: str) -> None:
    """A name that is in no list, or in another machine's."""
    assert uv_document(f"uv:python-digest/x86_64/{key}") == ""


@pytest.mark.parametrize("url", ["https://h/x", "https://h/20250115/..%2F..%2Fx", "", "https://h/2025/a b"])
def test_an_address_leads_to_no_place_of_this_machine(url: str) -> None:
    """A list that is not uv's cannot have a file written elsewhere."""
    assert uv_python._digest("cpython-3.12.8-linux-x86_64-gnu", url) == ""


def test_a_uv_that_lists_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is no uv, or an older one, is the machine's matter."""
    monkeypatch.setattr("uv.find_uv_bin", lambda: "/bin/true")

    with pytest.raises(HostError) as caught:
        uv_document("uv:python-downloads/x86_64")

    assert caught.value.reference == "uv-not-as-expected"
