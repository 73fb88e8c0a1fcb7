"""A checkout stands alone and is the same on each machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import FetchError, StageError

ABSENT = "0123456789abcdef0123456789abcdef01234567"
COMMIT_SECONDS = 1714979289


def head(tree: Path) -> str:
    """What a build inside the tree would see."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_time_is_told(edge: GitEdge, upstream: Any) -> None:
    """When a commit was made is known without a work tree."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    assert edge.commit_time(bare, commit) == COMMIT_SECONDS
    with pytest.raises(FetchError) as caught:
        edge.commit_time(bare, ABSENT)
    assert caught.value.reference == "git-object-missing"


def test_a_checkout_stands_alone(tree: Path, upstream: Any, tmp_path: Path) -> None:
    """The tree knows its commit even where cache and upstream are gone: it borrows nothing."""
    commit = upstream.git("rev-parse", "v1.0")
    shutil.rmtree(tmp_path / "cache")
    shutil.rmtree(tmp_path / "upstream")
    assert head(tree) == commit
    assert (tree / ".git").is_dir()
    assert not (tree / ".git/objects/info/alternates").exists()
    fsck = subprocess.run(["git", "fsck", "--full"], cwd=tree, capture_output=True, text=True, check=False)
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert (fsck.returncode, described.stdout.strip()) == (0, commit[: len(described.stdout.strip())])


def test_a_checkout_is_exact(tree: Path) -> None:
    """Contents, links and exec bits are the commit's, and git sees no difference."""
    assert (tree / "a.txt").read_text() == "one\n"
    assert (tree / "link").readlink() == Path("a.txt")
    assert os.access(tree / "dir/b.sh", os.X_OK)
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_everything_has_the_commits_time(tree: Path) -> None:
    """No file of the tree tells when it was checked out."""
    paths = [path for path in (tree, *tree.rglob("*")) if ".git" not in path.relative_to(tree).parts]
    assert {path.lstat().st_mtime for path in paths} == {COMMIT_SECONDS}


def test_the_origin_holds_no_password(tree: Path) -> None:
    """The address is recorded, the credentials are not, and no reflog holds this machine's name."""
    config = (tree / ".git/config").read_text()
    assert "https://example.invalid/project.git" in config
    assert "s3cret" not in config
    assert not (tree / ".git/logs").exists()


def test_checkouts_are_the_same_twice(edge: GitEdge, upstream: Any, tmp_path: Path, tree: Path) -> None:
    """Two checkouts have the same files with the same modes, whatever this process' umask is."""
    commit = upstream.git("rev-parse", "v1.0")
    before = os.umask(0o077)
    try:
        edge.check_out(edge.fetch_commit(str(upstream.path), commit), commit, tmp_path / "again", "/x")
    finally:
        os.umask(before)

    def listed(top: Path) -> list[tuple[str, int, float]]:
        paths = [path for path in sorted(top.rglob("*")) if ".git" not in path.relative_to(top).parts]
        return [(str(p.relative_to(top)), p.lstat().st_mode, p.lstat().st_mtime) for p in paths]

    assert listed(tmp_path / "again") == listed(tree)


def test_the_users_configuration_does_not_touch_a_checkout(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line ends, LFS filters, hooks and templates of this machine change nothing in the tree."""
    commit = upstream.commit(
        {".gitattributes": "*.bin filter=lfs\n", "x.bin": "version lfs\n", "y.txt": "1\n2\n"}
    )
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text("#!/bin/sh\ntouch hooked\n")
    (hooks / "post-checkout").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[core]\n\tautocrlf = true\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {hooks}\n"
        '[filter "lfs"]\n\tsmudge = echo smudged\n\trequired = true\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    place = tmp_path / "plain"
    edge.check_out(edge.fetch_commit(str(upstream.path), commit), commit, place, str(upstream.path))
    assert (place / "y.txt").read_bytes() == b"1\n2\n"
    assert (place / "x.bin").read_bytes() == b"version lfs\n"
    assert not (place / "hooked").exists()


def test_what_is_there_is_not_overwritten(edge: GitEdge, upstream: Any, tree: Path) -> None:
    """A directory with something in it is left as it is, and named; an empty one is used."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    with pytest.raises(StageError) as caught:
        edge.check_out(bare, commit, tree, str(upstream.path))
    assert caught.value.reference == "checkout-in-the-way"
    empty = tree / "third_party/empty"
    empty.mkdir(parents=True)
    edge.check_out(bare, commit, empty, str(upstream.path))
    assert head(empty) == commit


def test_a_failed_checkout_leaves_nothing(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """A commit that is not in the cache ends without a half-made tree beside the wanted one."""
    bare = edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "main"))
    with pytest.raises(FetchError):
        edge.check_out(bare, ABSENT, tmp_path / "place/tree", str(upstream.path))
    assert not list(tmp_path.glob("place/*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_the_cache_may_be_another_users(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """What a system's cache was filled with by one user, another one checks out: digests name all of it."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    for path in (bare, *bare.rglob("*")):
        os.chown(path, 12345, -1)
    edge.check_out(bare, commit, tmp_path / "tree", "/x")
    assert (tmp_path / "tree/a.txt").read_text() == "two\n"


def test_several_failures_are_the_stages_own(edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """Nothing was to be fetched: two places that are taken are told as such, and what fits is laid."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("")
    wanted = [(bare, commit, tmp_path / name, "/x") for name in ("a", "free", "b")]
    laid: list[int] = []

    with pytest.raises(StageError) as caught:
        edge.check_out_all(wanted, laid.append)

    assert caught.value.reference == "several-not-laid"
    assert caught.value.what == "2 of 3 work trees could not be laid"
    assert [line.partition(":")[0] for line in caught.value.why] == ["checkout-in-the-way"] * 2
    assert laid == [1]


def test_whoever_interrupts_ends_all_checkouts(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C does not wait for a work tree that takes minutes, and leaves nothing of it."""
    commits = [upstream.git("rev-parse", name) for name in ("v1.0", "main")]
    wanted = [
        (edge.fetch_commit(str(upstream.path), commit), commit, tmp_path / "trees" / commit, "/x")
        for commit in commits
    ]
    slow, reached, ended = tmp_path / "bin" / "git", tmp_path / "reached", tmp_path / "ended"
    slow.parent.mkdir()
    os.mkfifo(reached)
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *" checkout "*{commits[1]}*) : > {reached}; sleep 600; : > {ended};; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")

    def interrupt(_index: int) -> None:
        reached.read_bytes()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        edge.check_out_all(wanted, interrupt)

    assert not ended.exists()
    assert [path.name for path in (tmp_path / "trees").iterdir()] == [commits[0]]
