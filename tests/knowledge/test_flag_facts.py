"""What each option of a torch tree means."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from packaging.version import Version

from torchbuild.knowledge.flag_facts import FlagFact, flag_facts
from torchbuild.knowledge.tables import option_facts, preset, switch_fact
from torchbuild.knowledge.torch_releases import torch_lines

ROWS = flag_facts()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.since}")
def test_a_flag_says_what_it_is(row: FlagFact) -> None:
    """Kind and default agree, its sentence is one, and its source is named."""
    assert re.fullmatch(r"[A-Z][A-Z0-9_]+", row.name)
    assert row.kind == "string" or row.default in ("ON", "OFF", "")
    assert re.fullmatch(r"[^.].*[^.]", row.what)
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)
    assert "not read" not in row.source or row.checked == "unconfirmed"


def test_flags_are_in_order_and_one_each() -> None:
    """By name, and by the release that a row begins with."""
    keys = [(row.name, Version(row.since or "0")) for row in ROWS]

    assert keys == sorted(set(keys))


@pytest.mark.parametrize("release", [line.releases[-1] for line in torch_lines()])
def test_no_release_has_two_rows_of_a_flag(release: str) -> None:
    """Where a default changed, the older row ends where the newer begins."""
    assert [
        name for name, times in Counter(row.name for row in flag_facts(release)).items() if times > 1
    ] == []


def test_a_flag_that_changed_is_told_by_release() -> None:
    """The default is that of the release; what no release is gets every row."""
    of = {release: {row.name: row.default for row in flag_facts(release)} for release in ("2.6.0", "2.14.1")}

    assert (of["2.6.0"]["USE_CUFILE"], of["2.14.1"]["USE_CUFILE"]) == ("OFF", "ON")
    assert "USE_NVSHMEM" not in of["2.6.0"]
    assert "USE_FAKELOWP" not in of["2.14.1"]
    assert flag_facts("of no version") == ROWS


def test_whatever_else_names_a_switch_names_one_of_these() -> None:
    """Dependent switches, what is picked up by chance, and presets: all are options of the tree."""
    names = {row.name for row in ROWS}
    minimal = preset("minimal", "2.6.0")

    assert minimal is not None
    assert switch_fact().needs.keys() <= names
    assert {item.name for item in option_facts().found} <= names
    assert {*minimal.off, *minimal.on} - names == {"USE_QNNPACK"}, "older trees alone have it"


def test_a_dependent_switch_has_its_condition() -> None:
    """What `switches.toml` says of 2.6 is what the tree's own condition says."""
    rows = {row.name: row for row in flag_facts("2.6.0")}

    for name, needs in switch_fact().needs.items():
        assert all(need in rows[name].when for need in needs), name
