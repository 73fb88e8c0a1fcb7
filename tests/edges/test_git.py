"""Git sources arrive whole and exact, also from servers that allow little."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.tree_files import of_commit
from torchbuild.errors import FetchError, RecipeError

ABSENT = "0123456789abcdef0123456789abcdef01234567"


def shown(bare: Path, commit: str, name: str) -> bytes | None:
    """A file of a commit of the cache; None where there is none."""
    return of_commit(bare, commit, name.__eq__).texts.get(name)


def serve(web_server: Any, upstream: Any) -> str:
    """The repository over HTTP, as a hosting service does."""
    web_server.repositories = upstream.path.parent
    return f"{web_server.url}/git/project/.git"


@pytest.mark.parametrize("commit", ["HEAD", "-x", ABSENT[:39], ABSENT.upper()])
def test_only_whole_ids_are_fetched(edge: GitEdge, upstream: Any, commit: str) -> None:
    """A lock holds whole commit ids; anything else is refused by name."""
    with pytest.raises(RecipeError) as caught:
        edge.fetch_commit(str(upstream.path), commit)
    assert caught.value.reference == "git-commit-invalid"


def test_one_commit_comes_over_http(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """Only the commit asked for is transferred, not its history."""
    url, commit = serve(web_server, upstream), upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(url, edge.resolve_ref(url, "main"))
    counted = subprocess.run(
        ["git", "rev-list", "--count", "--all"], cwd=bare, capture_output=True, text=True, check=True
    )
    assert (shown(bare, commit, "a.txt"), counted.stdout.strip()) == (b"two\n", "1")


def test_nothing_is_fetched_twice(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """A commit that is here with its whole tree costs no request."""
    url, commit = serve(web_server, upstream), upstream.git("rev-parse", "main")
    first = edge.fetch_commit(url, commit)
    asked = len(web_server.asked)
    assert edge.fetch_commit(url, commit) == first
    assert len(web_server.asked) == asked


def test_credentials_do_not_name_the_cache(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """A new token finds what the old one fetched, and no token lies in the cache."""
    url, commit = serve(web_server, upstream), upstream.git("rev-parse", "main")
    first = edge.fetch_commit(url.replace("http://", "http://me:s3cret@"), commit)
    assert edge.fetch_commit(url, commit) == first
    texts = [path.read_bytes() for path in first.rglob("*") if path.is_file()]
    assert not any(b"s3cret" in text for text in texts)


def test_a_damaged_cache_is_noticed(edge: GitEdge, upstream: Any) -> None:
    """Where a file of the tree is gone from the cache, the commit is fetched again."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    for pack in (bare / "objects/pack").iterdir():
        pack.unlink()
    for loose in (bare / "objects").glob("??"):
        shutil.rmtree(loose)
    assert shown(edge.fetch_commit(str(upstream.path), commit), commit, "a.txt") == b"two\n"


def test_a_missing_blob_is_noticed(edge: GitEdge, upstream: Any) -> None:
    """One object lost out of thousands is enough to fetch again."""
    commit, blob = upstream.git("rev-parse", "main"), upstream.git("rev-parse", "main:a.txt")
    bare = edge.fetch_commit(str(upstream.path), commit)
    for pack in list((bare / "objects/pack").glob("*.pack")):
        kept = pack.rename(bare.parent / pack.name)
        pack.with_suffix(".idx").unlink()
        with kept.open("rb") as packed:
            subprocess.run(["git", "unpack-objects", "-q"], cwd=bare, stdin=packed, check=True)
    (bare / "objects" / blob[:2] / blob[2:]).unlink()
    assert shown(edge.fetch_commit(str(upstream.path), commit), commit, "a.txt") == b"two\n"


def test_commits_outlive_garbage_collection(edge: GitEdge, upstream: Any) -> None:
    """Git's own housekeeping of the cache removes nothing that a lock may name."""
    commit = upstream.git("rev-parse", "v1.0")
    bare = edge.fetch_commit(str(upstream.path), commit)
    subprocess.run(["git", "gc", "--quiet", "--prune=now"], cwd=bare, check=True)
    assert shown(bare, commit, "a.txt") == b"one\n"


def test_servers_that_give_no_single_commits_are_asked_for_all(
    edge: GitEdge, web_server: Any, upstream: Any
) -> None:
    """A server without smart transport still serves a commit deep in its history."""
    old = upstream.git("rev-parse", "main~1")
    upstream.git("update-server-info")
    top = upstream.path / ".git"
    for path in top.rglob("*"):
        if path.is_file():
            web_server.files[f"/dumb/{path.relative_to(top)}"] = path.read_bytes()
    bare = edge.fetch_commit(f"{web_server.url}/dumb", old)
    assert shown(bare, old, "a.txt") == b"one\n"


def test_a_commit_that_is_not_there_is_said_so(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """A commit that upstream does not have ends with its id and the place, and leaves no trace of success."""
    url = serve(web_server, upstream)
    for _ in range(2):
        with pytest.raises(FetchError) as caught:
            edge.fetch_commit(url, ABSENT)
        assert caught.value.reference == "git-commit-missing"
        assert ABSENT in caught.value.what


def test_a_tree_is_not_a_commit(edge: GitEdge, upstream: Any) -> None:
    """The id of something that is no commit is refused as such."""
    with pytest.raises(FetchError) as caught:
        edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "main^{tree}"))
    assert caught.value.reference == "git-commit-missing"


def test_what_a_killed_git_left_is_in_nobodys_way(edge: GitEdge, upstream: Any) -> None:
    """Stale locks and half packs of a killed run do not stop the next one."""
    bare = edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "v1.0"))
    commit = upstream.git("rev-parse", "main")
    left = [bare / "shallow.lock", bare / f"refs/torchbuild/{commit}.lock", bare / "objects/pack/tmp_pack_x"]
    for path in left:
        path.write_text("")
    edge.fetch_commit(str(upstream.path), commit)
    assert not any(path.exists() for path in left)


def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nothing that is called git can be started."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_what_is_cached_is_known_without_git(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build with nothing to do starts no process for each of forty submodules."""
    url, commit = str(upstream.path), upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(url, commit)
    no_git(tmp_path, monkeypatch)
    assert edge.cached(url, commit) == bare
    assert edge.cached(url.replace("project", "other"), commit) is None


def test_a_cache_that_lost_files_is_not_believed(edge: GitEdge, upstream: Any) -> None:
    """What is gone, or shorter than it was, is fetched again; the network is asked by fetch alone."""
    url, commit = str(upstream.path), upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(url, commit)
    (pack,) = (bare / "objects/pack").glob("*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:-1])
    assert edge.cached(url, commit) is None
    pack.unlink()
    assert edge.cached(url, commit) is None
    edge.fetch_commit(url, commit)
    assert edge.cached(url, commit) == bare


def test_a_cache_that_somebody_packed_anew_is_believed(edge: GitEdge, upstream: Any) -> None:
    """Other packs with the same objects are no loss."""
    url, commit = str(upstream.path), upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(url, commit)
    edge.fetch_commit(url, upstream.git("rev-parse", "v1.0"))
    subprocess.run(["git", "gc", "--quiet", "--prune=now"], cwd=bare, check=True)
    assert edge.cached(url, commit) == bare


def test_several_commits_come_at_once(edge: GitEdge, upstream: Any, nested: Any) -> None:
    """Each is told as it arrives; two of one repository do not disturb one another."""
    wanted = [
        (str(upstream.path), upstream.git("rev-parse", "v1.0")),
        (str(upstream.path), upstream.git("rev-parse", "main")),
        (str(nested.path), nested.git("rev-parse", "main")),
    ]
    there: list[int] = []
    edge.fetch_commits(wanted, there.append)
    assert sorted(there) == [0, 1, 2]
    assert all(edge.cached(*item) for item in wanted)


def test_several_failures_are_told_together(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """Who mends addresses learns of all of them at once; what could be had is there."""
    good = (str(upstream.path), upstream.git("rev-parse", "main"))
    with pytest.raises(FetchError) as caught:
        edge.fetch_commits(
            [(str(tmp_path / "a"), ABSENT), good, (str(tmp_path / "b"), ABSENT)], lambda _: None
        )
    assert caught.value.reference == "several-not-fetched"
    assert caught.value.what == "2 of 3 repositories could not be fetched"
    assert edge.cached(*good)
