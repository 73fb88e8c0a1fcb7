"""Debian's versions sort as dpkg sorts them."""

from __future__ import annotations

import itertools
import shutil
import subprocess

import pytest

from torchbuild.edges.debian_version import version_key

IN_ORDER = [
    "0~~", "0~~a", "0~", "0", "0-0.1", "1.0~rc1-1", "1.0~rc1+b1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b1", "1.0-1.1",
    "1.0a-1", "1.0+dfsg-1", "1.0+dfsg1-1", "1.0.1-1", "1.9", "1.10", "2.6.0+dfsg-7", "10", "1:0.1", "2:0~1",
]  # fmt: skip


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise(IN_ORDER)))
def test_neighbours(lower: str, higher: str) -> None:
    """Each is older than the next."""
    assert version_key(lower) < version_key(higher)


@pytest.mark.parametrize("pair", [("0", "0-0"), ("1.0", "0:1.0"), ("1.00", "1.0"), ("1.0-00", "1.0-0")])
def test_equals(pair: tuple[str, str]) -> None:
    """What is written in two ways is one version."""
    assert version_key(pair[0]) == version_key(pair[1])


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="needs dpkg, the authority")
@pytest.mark.parametrize(("one", "other"), list(itertools.pairwise([*IN_ORDER[::2], *IN_ORDER[1::2]])))
def test_dpkg_agrees(one: str, other: str) -> None:
    """Dpkg gives the same answer."""
    asked = subprocess.run(["dpkg", "--compare-versions", one, "lt", other], check=False)
    assert (asked.returncode == 0) == (version_key(one) < version_key(other))
