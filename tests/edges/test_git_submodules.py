"""Submodules are locked as git would check them out, and cannot lead elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import FetchError


def head(tree: Path) -> str:
    """What a build inside the tree would see."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_submodules_are_locked_with_the_nested_ones(edge: GitEdge, nested: Any) -> None:
    """Each submodule comes with its commit, its absolute address and its path from the top, sorted."""
    url, commit = str(nested.path), nested.git("rev-parse", "HEAD")
    found = [(sub.path, sub.url) for sub in edge.locked_submodules(url, commit)]
    top = nested.path.parent
    assert found == [
        ("third_party/middle", f"{top}/middle"),
        ("third_party/middle/deep/inner", f"{top}/inner"),
    ]


def test_locked_submodules_can_be_checked_out_offline(edge: GitEdge, nested: Any, tmp_path: Path) -> None:
    """After locking, the cache alone gives the tree that git's own recursive clone gives."""
    url, commit = str(nested.path), nested.git("rev-parse", "HEAD")
    subs = edge.locked_submodules(url, commit)
    bares = [edge.fetch_commit(sub.url, sub.commit) for sub in subs]
    top = edge.fetch_commit(url, commit)
    shutil.rmtree(nested.path.parent)
    edge.check_out(top, commit, tmp_path / "tree", url)
    for sub, bare in zip(subs, bares, strict=True):
        edge.check_out(bare, sub.commit, tmp_path / "tree" / sub.path, sub.url)
    assert (tmp_path / "tree/third_party/middle/deep/inner/inner.txt").read_text() == "inner\n"
    assert head(tmp_path / "tree/third_party/middle") == subs[0].commit


def test_a_commit_without_submodules_has_none(edge: GitEdge, upstream: Any) -> None:
    """No .gitmodules is no error."""
    assert edge.locked_submodules(str(upstream.path), upstream.git("rev-parse", "main")) == ()


def test_a_submodule_without_an_address_is_named(edge: GitEdge, nested: Any) -> None:
    """A submodule that .gitmodules forgot ends the lock with its path, as git would end later."""
    commit = nested.commit({".gitmodules": ""})
    with pytest.raises(FetchError) as caught:
        edge.locked_submodules(str(nested.path), commit)
    assert caught.value.reference == "submodule-unmapped"
    assert "third_party/middle" in caught.value.what


@pytest.mark.parametrize(
    "address", ["ext::sh -c true", "--upload-pack=true", "-x", "https://me:s3cret@h/x?token=s3cret"]
)
def test_hostile_submodule_addresses_are_refused(edge: GitEdge, nested: Any, address: str) -> None:
    """What a tree calls an address never becomes an option or a program."""
    nested.git("config", "-f", ".gitmodules", "submodule.third_party/middle.url", address)
    commit = nested.commit({})
    with pytest.raises(FetchError) as caught:
        edge.locked_submodules(str(nested.path), commit)
    assert caught.value.reference == "submodule-url-refused"
    assert "s3cret" not in f"{caught.value.what}{caught.value.why}{caught.value.fix}"


def test_remote_trees_do_not_read_local_repositories(edge: GitEdge, web_server: Any, nested: Any) -> None:
    """A repository from the network may not name one of this machine's directories as its submodule."""
    nested.git(
        "config", "-f", ".gitmodules", "submodule.third_party/middle.url", str(nested.path.parent / "middle")
    )
    commit = nested.commit({})
    web_server.repositories = nested.path.parent
    with pytest.raises(FetchError) as caught:
        edge.locked_submodules(f"{web_server.url}/git/outer/.git", commit)
    assert caught.value.reference == "submodule-url-refused"


def test_what_is_cached_is_not_fetched_for_its_submodules(
    edge: GitEdge, nested: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To lock again is to look: git walks no tree that was found whole before."""
    url, commit = str(nested.path), nested.git("rev-parse", "HEAD")
    found = edge.locked_submodules(url, commit)
    fetched: list[str] = []
    monkeypatch.setattr(GitEdge, "fetch_commit", lambda _self, url, _commit: fetched.append(url))
    assert edge.locked_submodules(url, commit) == found
    assert fetched == []
