"""Sources as they are in the world: bundles, servers of the old kind, submodules that moved."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.tree_files import of_commit
from torchbuild.errors import FetchError

ABSENT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def old_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it speaks to a server that gives away only what it has named."""
    for name, value in {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def shown(bare: Path, commit: str, name: str) -> bytes | None:
    """A file of a commit of the cache; None where there is none."""
    return of_commit(bare, commit, name.__eq__).texts.get(name)


def history(bare: Path) -> int:
    """How many commits came."""
    argv = ["git", "rev-list", "--count", "--all"]
    return int(subprocess.run(argv, cwd=bare, capture_output=True, text=True, check=True).stdout)


def test_a_tip_comes_alone_from_an_old_server(edge: GitEdge, upstream: Any, old_protocol: None) -> None:
    """It names the commit of a branch itself, so history need not come."""
    bare = edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "main"))
    assert history(bare) == 1


def test_an_old_server_gives_the_history_of_its_branches(
    edge: GitEdge, upstream: Any, old_protocol: None
) -> None:
    """A commit below a branch, after another one that came without its history."""
    edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "main"))
    below = upstream.git("rev-parse", "main~2")
    bare = edge.fetch_commit(str(upstream.path), below)
    assert shown(bare, below, "a.txt") == b"one\n"
    assert history(bare) > 2


def test_an_old_server_gives_commits_off_every_branch(
    edge: GitEdge, upstream: Any, old_protocol: None
) -> None:
    """A request to merge has a name of its own, below which the commit lies that a superproject pins."""
    upstream.git("checkout", "--quiet", "--detach")
    pinned = upstream.commit({"a.txt": "off every branch\n"})
    upstream.git("update-ref", "refs/merge/7/head", upstream.commit({"b.txt": "above it\n"}))
    upstream.git("checkout", "--quiet", "main")
    bare = edge.fetch_commit(str(upstream.path), pinned)
    assert shown(bare, pinned, "a.txt") == b"off every branch\n"


def test_what_an_old_server_does_not_have_is_said(edge: GitEdge, upstream: Any, old_protocol: None) -> None:
    """After all of it was asked for."""
    with pytest.raises(FetchError) as caught:
        edge.fetch_commit(str(upstream.path), ABSENT)
    assert caught.value.reference == "git-commit-missing"


def bundle(upstream: Any, place: Path, *what: str) -> str:
    """The repository as one file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    upstream.git("bundle", "create", "--quiet", str(place), *(what or ("--all",)))
    return str(place)


def test_a_bundle_is_a_repository(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """Refs are looked up in it, and any of its commits is taken out of it."""
    url = bundle(upstream, tmp_path / "b/project.bundle")
    annotated = upstream.git("rev-parse", "v1.1^{commit}")
    bare, commit = edge.locate(url, "v1.1")
    assert (commit, edge.cached(url, annotated)) == (annotated, bare)
    old = upstream.git("rev-parse", "v1.0~1")
    edge.check_out(edge.fetch_commit(url, old), old, tmp_path / "tree", url)
    assert (tmp_path / "tree/a.txt").read_text() == "one\n"


def test_bundles_may_stand_in_for_servers(tmp_path: Path, nested: Any) -> None:
    """A machine without a network builds from files under the names of the lock, submodules included."""
    folder, top = tmp_path / "bundles", nested.path.parent
    middle, inner = (type(nested)(top / name) for name in ("middle", "inner"))
    middle.git("config", "-f", ".gitmodules", "submodule.deep/inner.url", "https://git.invalid/inner")
    pinned = middle.commit({})
    nested.git("update-index", "--cacheinfo", f"160000,{pinned},third_party/middle")
    nested.git("commit", "--quiet", "--message", "pinned anew")
    for repository in (nested, middle, inner):
        bundle(repository, folder / repository.path.name)
    edge = GitEdge(tmp_path / "cache", prefixes={"https://git.invalid/": f"{folder}/"})
    commit = edge.resolve_ref("https://git.invalid/outer", "main")
    found = edge.locked_submodules("https://git.invalid/outer", commit)
    assert [(sub.path, sub.url) for sub in found] == [
        ("third_party/middle", "https://git.invalid/middle"),
        ("third_party/middle/deep/inner", "https://git.invalid/inner"),
    ]


def test_half_a_bundle_is_told_from_a_whole_one(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """One that was made for those who have the rest names what is missing."""
    url = bundle(upstream, tmp_path / "half.bundle", "main", "^main~1")
    with pytest.raises(FetchError) as caught:
        edge.fetch_commit(url, upstream.git("rev-parse", "main"))
    assert caught.value.reference == "git-bundle-incomplete"


def test_a_file_that_is_no_bundle_is_no_repository(edge: GitEdge, tmp_path: Path) -> None:
    """With its path."""
    (tmp_path / "x.bundle").write_text("not one")
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(tmp_path / "x.bundle"), "main")
    assert caught.value.reference == "git-repository-missing"


def test_a_submodule_that_moved_is_found_where_it_is(edge: GitEdge, nested: Any) -> None:
    """Its name in .gitmodules stays the old one; each commit has its own places."""
    before = nested.git("rev-parse", "HEAD")
    nested.git("mv", "third_party/middle", "extern")
    after = nested.commit({})
    url = str(nested.path)
    assert [sub.path for sub in edge.locked_submodules(url, before)] == [
        "third_party/middle",
        "third_party/middle/deep/inner",
    ]
    assert [sub.path for sub in edge.locked_submodules(url, after)] == ["extern", "extern/deep/inner"]


def test_a_submodule_that_was_removed_is_not_fetched(edge: GitEdge, nested: Any) -> None:
    """Also where .gitmodules still speaks of it."""
    nested.git("rm", "--quiet", "--cached", "third_party/middle")
    nested.git("commit", "--quiet", "--message", "removed")
    assert "third_party/middle" in nested.git("show", "HEAD:.gitmodules")
    assert edge.locked_submodules(str(nested.path), nested.git("rev-parse", "HEAD")) == ()
