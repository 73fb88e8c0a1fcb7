"""Which addresses are tried for one locator, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.fetch_one import Places, candidates
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.web import Web
from torchbuild.errors import RecipeError


def places(tmp_path: Path, **settings: Any) -> Places:
    """This machine, with these mirrors."""
    return Places(
        store=DirectoryStore(tmp_path / "store"),
        partial=tmp_path / "partial",
        recipe_dir=tmp_path,
        mirrors=MirrorSettings(**settings),
        web=Web(),
    )


def test_debian_files_are_sought_in_each_component(tmp_path: Path) -> None:
    """Main first, and each address under this machine's prefixes too."""
    found = candidates(
        places(
            tmp_path,
            debian="https://m.invalid/debian",
            prefixes={"https://m.invalid/": "https://near.invalid/"},
        ),
        "debian:sid/libtool/libtool_1.dsc",
    )
    assert found[:3] == (
        "https://near.invalid/debian/pool/main/libt/libtool/libtool_1.dsc",
        "https://m.invalid/debian/pool/main/libt/libtool/libtool_1.dsc",
        "https://near.invalid/debian/pool/contrib/libt/libtool/libtool_1.dsc",
    )


def test_debian_packages_are_where_their_path_says(tmp_path: Path) -> None:
    """A binary package is asked for at one place, under this machine's prefixes too: a mirror of old ones."""
    found = candidates(
        places(
            tmp_path,
            debian="https://m.invalid/debian/",
            prefixes={"https://m.invalid/debian/pool/": "https://old.invalid/pool/"},
        ),
        "debian:sid/pool/main/g/gcc/g++_14-1_amd64.deb",
    )
    assert found == (
        "https://old.invalid/pool/main/g/gcc/g++_14-1_amd64.deb",
        "https://m.invalid/debian/pool/main/g/gcc/g++_14-1_amd64.deb",
    )


def test_index_files_are_where_the_index_says(tmp_path: Path, web_server: Any) -> None:
    """The index's own address of a file, after its mirrors."""
    web_server.files["/simple/p/"] = b'<a href="https://files.invalid/p-1.whl"></a>'
    found = candidates(
        places(
            tmp_path,
            index_url=f"{web_server.url}/simple",
            prefixes={"https://files.invalid/": "https://near.invalid/"},
        ),
        "pypi:p/p-1.whl",
    )
    assert found == ("https://near.invalid/p-1.whl", "https://files.invalid/p-1.whl")


@pytest.mark.parametrize("locator", ["pypi:p", "debian:sid/p", "pypi:../p"])
def test_malformed_locators_ask_nobody(tmp_path: Path, locator: str) -> None:
    """A locator of the wrong shape ends before any request."""
    with pytest.raises(RecipeError) as caught:
        candidates(places(tmp_path), locator)
    assert caught.value.reference == "locator-invalid"
