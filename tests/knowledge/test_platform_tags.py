"""Platform tags of wheels: each fact with its source, and true of the libraries that are installed here."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from packaging import _manylinux

from torchbuild.knowledge.overlay_rows import is_checked
from torchbuild.knowledge.platform_tags import legacy_glibc, legacy_tag, oldest_glibc, resolver_glibcs

TABLE: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (files("torchbuild.knowledge") / "data" / "platform_tags.toml").read_text(encoding="utf-8")
)
ROWS = [row for rows in TABLE.values() for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}" for i in range(len(ROWS))])
def test_every_fact_says_where_it_is_from(row: dict[str, Any]) -> None:
    """No row without its source and the day on which it was read."""
    assert len(row["source"]) > 10
    assert is_checked(row["checked"])


def test_old_tags_are_known_both_ways() -> None:
    """A tag stands for one C library, and that C library for the tag."""
    for tag in ("manylinux1", "manylinux2010", "manylinux2014"):
        glibc = legacy_glibc(tag)
        assert glibc is not None
        assert legacy_tag(glibc) == tag
    assert legacy_glibc("manylinux_2_28") is None
    assert legacy_tag("2.28") is None


def test_installers_agree_about_old_tags() -> None:
    """The table says what the library says that pip and others decide by."""
    theirs = {f"{major}.{minor}": tag for (major, minor), tag in _manylinux._LEGACY_MANYLINUX_MAP.items()}

    assert {row["glibc"]: row["tag"] for row in TABLE["legacy_tag"]} == theirs


def test_each_processor_has_an_oldest_c_library() -> None:
    """Wheels older than any installer takes are not looked for."""
    assert (oldest_glibc("x86_64"), oldest_glibc("aarch64")) == ("2.5", "2.17")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_resolver_knows_these_platforms(machine: str) -> None:
    """Each platform of the table is one that the installed resolver takes; an older resolver fails here, not in use."""
    from uv import find_uv_bin

    said = subprocess.run(
        [find_uv_bin(), "pip", "compile", "--help"], capture_output=True, text=True, check=True
    )
    theirs = set(re.findall(rf"{machine}-manylinux_2_(\d+)", said.stdout))

    assert {glibc.partition(".")[2] for glibc in resolver_glibcs(machine)} <= theirs
    assert list(resolver_glibcs(machine)) == sorted(resolver_glibcs(machine))
