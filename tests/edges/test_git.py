"""Git sources arrive whole and exact, from servers that allow little, and come out the same everywhere."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from torchbuild.context import Git
from torchbuild.edges.git import GitEdge
from torchbuild.errors import FetchError, HostError, RecipeError, StageError

if TYPE_CHECKING:
    from collections.abc import Callable

ABSENT = "0123456789abcdef0123456789abcdef01234567"
COMMIT_SECONDS = 1714979289


@pytest.fixture
def upstream(make_repository: Callable[[str], Any]) -> Any:
    """A repository with a tag, an annotated tag, a branch and an executable file."""
    repository = make_repository("project")
    repository.commit({"a.txt": "one\n", "dir/b.sh": "#!/bin/sh\n"})
    (repository.path / "dir/b.sh").chmod(0o755)
    (repository.path / "link").symlink_to("a.txt")
    repository.commit({}, "exec bit")
    repository.git("tag", "v1.0")
    repository.git("tag", "-a", "v1.1", "-m", "annotated")
    repository.git("branch", "release/1.1")
    repository.commit({"a.txt": "two\n"})
    return repository


@pytest.fixture
def edge(tmp_path: Path, pauses: list[float]) -> Git:
    """The edge under test, with a cache of its own."""
    return GitEdge(tmp_path / "cache", pause=pauses.append)


def head(tree: Path) -> str:
    """What a build inside the tree would see."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("ref", ["v1.0", "v1.1", "release/1.1", "refs/tags/v1.1", "refs/heads/release/1.1"])
def test_names_become_commits(edge: GitEdge, upstream: Any, ref: str) -> None:
    """A tag, an annotated tag, a branch and a whole ref name all give the commit, never a tag object."""
    assert edge.resolve_ref(str(upstream.path), ref) == upstream.git("rev-parse", "v1.0^{commit}")


def test_head_is_a_name(edge: GitEdge, upstream: Any) -> None:
    """HEAD is what upstream has checked out."""
    assert edge.resolve_ref(str(upstream.path), "HEAD") == upstream.git("rev-parse", "main")


def test_whole_commit_ids_need_no_server(edge: GitEdge) -> None:
    """Forty digits are taken as they are, in lower case, and nobody is asked."""
    assert edge.resolve_ref("https://127.0.0.1:1/x.git", ABSENT.upper()) == ABSENT


def test_near_names_are_offered(edge: GitEdge, upstream: Any) -> None:
    """A mistyped tag is answered with the tags that are near, and with the line to write."""
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), "v1.00")
    assert caught.value.reference == "git-ref-missing"
    assert "v1.0" in " ".join(caught.value.why)
    assert 'source.ref = "v1.0"' in caught.value.fix


def test_abbreviated_ids_are_explained(edge: GitEdge, upstream: Any) -> None:
    """A short commit id is refused with the reason: a server cannot be asked for it."""
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), upstream.git("rev-parse", "--short=10", "HEAD"))
    assert "abbreviated" in " ".join(caught.value.why)


def test_tag_and_branch_of_one_name_are_not_chosen_between(edge: GitEdge, upstream: Any) -> None:
    """Where a name means two commits, the user says which; nothing is guessed."""
    upstream.git("branch", "v1.0", "main")
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), "v1.0")
    assert caught.value.reference == "git-ref-ambiguous"


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "-oProxyCommand=x:y",
        "ssh://-oProxyCommand=x/y",
        "ssh://user@-oProxyCommand=x/y",
        "ftp://host/x.git",
        "fd::17",
        "relative/path",
        "https://host/a b",
        "https://host/\nx",
        "",
    ],
)
def test_addresses_that_are_programs_are_refused(edge: GitEdge, url: str) -> None:
    """Options, remote helpers, relative paths and unknown schemes never reach git."""
    with pytest.raises(RecipeError) as caught:
        edge.resolve_ref(url, "main")
    assert caught.value.reference == "git-url-refused"
    with pytest.raises(RecipeError):
        edge.fetch_commit(url, ABSENT)


@pytest.mark.parametrize("ref", ["--upload-pack=x", "-x", "a b", "a:b", "a..b", "", "a^", "a\nb"])
def test_refs_that_are_options_are_refused(edge: GitEdge, upstream: Any, ref: str) -> None:
    """What cannot be the name of a ref never reaches git."""
    with pytest.raises(RecipeError) as caught:
        edge.resolve_ref(str(upstream.path), ref)
    assert caught.value.reference == "git-ref-refused"


@pytest.mark.parametrize("commit", ["HEAD", "-x", ABSENT[:39], ABSENT.upper()])
def test_only_whole_ids_are_fetched(edge: GitEdge, upstream: Any, commit: str) -> None:
    """A lock holds whole commit ids; anything else is refused by name."""
    with pytest.raises(RecipeError) as caught:
        edge.fetch_commit(str(upstream.path), commit)
    assert caught.value.reference == "git-commit-invalid"


def serve(web_server: Any, upstream: Any) -> str:
    """The repository over HTTP, as a hosting service does."""
    web_server.repositories = upstream.path.parent
    return f"{web_server.url}/git/project/.git"


def test_one_commit_comes_over_http(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """Only the commit asked for is transferred, not its history."""
    url, commit = serve(web_server, upstream), upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(url, edge.resolve_ref(url, "main"))
    counted = subprocess.run(
        ["git", "rev-list", "--count", "--all"], cwd=bare, capture_output=True, text=True, check=True
    )
    assert (edge.show(bare, commit, "a.txt"), counted.stdout.strip()) == (b"two\n", "1")


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
    assert edge.show(edge.fetch_commit(str(upstream.path), commit), commit, "a.txt") == b"two\n"


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
    assert edge.show(edge.fetch_commit(str(upstream.path), commit), commit, "a.txt") == b"two\n"


def test_commits_outlive_garbage_collection(edge: GitEdge, upstream: Any) -> None:
    """Git's own housekeeping of the cache removes nothing that a lock may name."""
    commit = upstream.git("rev-parse", "v1.0")
    bare = edge.fetch_commit(str(upstream.path), commit)
    subprocess.run(["git", "gc", "--quiet", "--prune=now"], cwd=bare, check=True)
    assert edge.show(bare, commit, "a.txt") == b"one\n"


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
    assert edge.show(bare, old, "a.txt") == b"one\n"


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


def test_passing_errors_are_tried_again(
    edge: GitEdge, web_server: Any, upstream: Any, pauses: list[float]
) -> None:
    """A server that is busy twice is asked a third time, after growing pauses."""
    url = serve(web_server, upstream)
    web_server.replies["/git/project/.git/info/refs"] = [web_server.status(502), web_server.status(503)]
    assert edge.resolve_ref(url, "main") == upstream.git("rev-parse", "main")
    assert len(pauses) == 2


def test_refusals_are_not_tried_again(
    edge: GitEdge, web_server: Any, upstream: Any, pauses: list[float]
) -> None:
    """A server that wants a password gets one question, and the user the command that checks it."""
    url = serve(web_server, upstream).replace("http://", "http://me:s3cret@")
    web_server.replies["/git/project/.git/info/refs"] = [web_server.status(403)] * 9
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(url, "main")
    assert (caught.value.reference, pauses) == ("git-auth-failed", [])
    assert "s3cret" not in f"{caught.value.what}{caught.value.why}{caught.value.fix}"


def test_nobody_is_asked_for_a_password(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """Without credentials the answer is an error, not a prompt that hangs."""
    url = serve(web_server, upstream)
    challenge = web_server.status(401, WWW_Authenticate='Basic realm="x"')
    web_server.replies["/git/project/.git/info/refs"] = [challenge] * 9
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(url, "main")
    assert caught.value.reference == "git-auth-failed"


def test_no_repository_and_no_server_are_told_apart(edge: GitEdge, web_server: Any, tmp_path: Path) -> None:
    """A wrong address is upstream's answer; a silent one is the network's."""
    web_server.repositories = tmp_path
    with pytest.raises(FetchError) as absent:
        edge.resolve_ref(f"{web_server.url}/nothing.git", "main")
    with pytest.raises(FetchError) as silent:
        edge.resolve_ref("http://127.0.0.1:1/x.git", "main")
    assert (absent.value.reference, silent.value.reference) == ("git-repository-missing", "git-not-reachable")


def test_mirrors_are_used(tmp_path: Path, upstream: Any) -> None:
    """An address prefix of [machine.mirrors] leads elsewhere, under the cache's name of the original."""
    mirrored = GitEdge(tmp_path / "cache", prefixes={"https://example.invalid/": f"{upstream.path.parent}/"})
    assert mirrored.resolve_ref("https://example.invalid/project", "main") == upstream.git(
        "rev-parse", "main"
    )


def test_the_users_rewriting_is_heard(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """InsteadOf of the user's own configuration leads to another place, by another protocol."""
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "file://{upstream.path.parent}/"]\n\tinsteadOf = https://example.invalid/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert edge.resolve_ref("https://example.invalid/project", "main") == upstream.git("rev-parse", "main")


def test_a_surrounding_git_is_not_heard(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called from a git hook, which hands over its own repository, the edge still uses its cache."""
    commit = upstream.git("rev-parse", "main")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    bare = edge.fetch_commit(str(upstream.path), commit)
    edge.check_out(bare, commit, tmp_path / "tree", str(upstream.path))
    assert (tmp_path / "tree/a.txt").read_text() == "two\n"
    assert not (tmp_path / "elsewhere").exists()


def test_files_are_shown_without_a_work_tree(edge: GitEdge, upstream: Any) -> None:
    """One file of a commit can be read; links are followed; what is no file is None."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    seen = [edge.show(bare, commit, path) for path in ("link", "dir/b.sh", "dir", "nothing", "a\nb")]
    assert seen == [b"two\n", b"#!/bin/sh\n", None, None, None]


def test_time_and_tree_are_told(edge: GitEdge, upstream: Any) -> None:
    """The commit's time and its tree's id are known without a work tree."""
    commit = upstream.git("rev-parse", "main")
    bare = edge.fetch_commit(str(upstream.path), commit)
    assert edge.commit_time(bare, commit) == COMMIT_SECONDS
    assert edge.tree_id(bare, commit) == upstream.git("rev-parse", "main^{tree}")
    with pytest.raises(FetchError) as caught:
        edge.commit_time(bare, ABSENT)
    assert caught.value.reference == "git-object-missing"


@pytest.fixture
def tree(edge: GitEdge, upstream: Any, tmp_path: Path) -> Path:
    """The first tag, checked out."""
    commit = upstream.git("rev-parse", "v1.0")
    place = tmp_path / "build/source"
    edge.check_out(
        edge.fetch_commit(str(upstream.path), commit),
        commit,
        place,
        "https://me:s3cret@example.invalid/project.git",
    )
    return place


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


@pytest.fixture
def nested(make_repository: Callable[[str], Any]) -> Any:
    """A project with a submodule by relative address, which has one of its own by absolute path."""
    inner, middle, outer = (make_repository(name) for name in ("inner", "middle", "outer"))
    inner.commit({"inner.txt": "inner\n"})
    middle.git("submodule", "add", "--quiet", str(inner.path), "deep/inner")
    middle.commit({"middle.txt": "middle\n"})
    outer.git("submodule", "add", "--quiet", str(middle.path), "third_party/middle")
    outer.git("config", "-f", ".gitmodules", "submodule.third_party/middle.url", "../middle")
    outer.commit({"outer.txt": "outer\n"})
    return outer


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


@pytest.mark.parametrize("address", ["ext::sh -c true", "--upload-pack=true", "-x"])
def test_hostile_submodule_addresses_are_refused(edge: GitEdge, nested: Any, address: str) -> None:
    """What a tree calls an address never becomes an option or a program."""
    nested.git("config", "-f", ".gitmodules", "submodule.third_party/middle.url", address)
    commit = nested.commit({})
    with pytest.raises(FetchError) as caught:
        edge.locked_submodules(str(nested.path), commit)
    assert caught.value.reference == "submodule-url-refused"


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


PATCH = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+patched\n"


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """Fits a tree whose a.txt says one."""
    path = tmp_path / "fix-it.patch"
    path.write_text(PATCH.format(old="one"))
    return path


def test_a_patch_applies_inside_a_checkout(edge: GitEdge, tree: Path, patch: Path) -> None:
    """A tree with its own .git is patched."""
    edge.apply_patch(tree, patch)
    assert (tree / "a.txt").read_text() == "patched\n"


def test_a_patch_applies_without_git(edge: GitEdge, tmp_path: Path, patch: Path) -> None:
    """A tree from an archive is patched."""
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("one\n")
    edge.apply_patch(plain, patch)
    assert (plain / "a.txt").read_text() == "patched\n"


def test_a_patch_applies_below_another_repository(edge: GitEdge, tree: Path, patch: Path) -> None:
    """A tree that lies in somebody's repository is patched: git alone would skip it without a word."""
    plain = tree / "unpacked/project"
    plain.mkdir(parents=True)
    (plain / "a.txt").write_text("one\n")
    bare_git = subprocess.run(["git", "apply", str(patch)], cwd=plain, capture_output=True, check=False)
    assert (bare_git.returncode, (plain / "a.txt").read_text()) == (0, "one\n"), "git's trap is still there"
    edge.apply_patch(plain, patch)
    assert (plain / "a.txt").read_text() == "patched\n"


def test_a_skipped_patch_is_a_failure(edge: GitEdge, tree: Path, patch: Path) -> None:
    """Where the repository above cannot be hidden (a colon in its path), nothing counts as applied."""
    above = tree.rename(tree.parent / "so:urce")
    plain = above / "project"
    plain.mkdir()
    (plain / "a.txt").write_text("one\n")
    with pytest.raises(StageError) as caught:
        edge.apply_patch(plain, patch)
    assert caught.value.reference == "patch-does-not-apply"
    assert (plain / "a.txt").read_text() == "one\n"


def test_a_patch_that_does_not_fit_changes_nothing(edge: GitEdge, tree: Path, tmp_path: Path) -> None:
    """One hunk that fits and one that does not leave the tree as it was, with git's words and the patch's name."""
    bad = tmp_path / "bad.patch"
    bad.write_text(PATCH.format(old="one") + "--- a/dir/b.sh\n+++ b/dir/b.sh\n@@ -1 +1 @@\n-nope\n+x\n")
    with pytest.raises(StageError) as caught:
        edge.apply_patch(tree, bad)
    assert caught.value.reference == "patch-does-not-apply"
    assert "bad.patch" in caught.value.what
    assert any("patch failed: dir/b.sh" in line for line in caught.value.why)
    assert (tree / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("text", ["", "no patch at all\n"])
def test_a_patch_without_patches_is_a_failure(edge: GitEdge, tree: Path, tmp_path: Path, text: str) -> None:
    """An empty file, or one that holds no diff, is not counted as applied."""
    empty = tmp_path / "empty.patch"
    empty.write_text(text)
    with pytest.raises(StageError) as caught:
        edge.apply_patch(tree, empty)
    assert caught.value.reference == "patch-does-not-apply"


def test_a_patch_stays_inside_the_tree(edge: GitEdge, tree: Path, tmp_path: Path) -> None:
    """A patch that names a file above the tree is refused, also with fuzz."""
    (tree.parent / "a.txt").write_text("one\n")
    escaping = tmp_path / "escape.patch"
    escaping.write_text("--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-one\n+patched\n")
    with pytest.raises(StageError):
        edge.apply_patch(tree, escaping, fuzz=True)
    assert (tree.parent / "a.txt").read_text() == "one\n"


def test_leading_components_are_removed(edge: GitEdge, tree: Path, tmp_path: Path) -> None:
    """The patch's own depth is honoured."""
    flat = tmp_path / "flat.patch"
    flat.write_text(PATCH.format(old="one").replace(" a/", " ").replace(" b/", " ").partition("\n")[2])
    edge.apply_patch(tree, flat, 0)
    assert (tree / "a.txt").read_text() == "patched\n"


@pytest.fixture
def drifted(tree: Path, tmp_path: Path) -> Path:
    """A patch whose context differs from the tree in one line."""
    (tree / "long.txt").write_text("".join(f"line {number}\n" for number in range(9)))
    path = tmp_path / "drifted.patch"
    path.write_text(
        "--- a/long.txt\n+++ b/long.txt\n@@ -2,7 +2,7 @@\n other 1\n line 2\n line 3\n-line 4\n+new 4\n line 5\n line 6\n line 7\n"
    )
    return path


def test_fuzz_is_used_only_where_asked_for(edge: GitEdge, tree: Path, drifted: Path) -> None:
    """A patch that fits only loosely is refused unless the caller allows it."""
    with pytest.raises(StageError):
        edge.apply_patch(tree, drifted)
    edge.apply_patch(tree, drifted, fuzz=True)
    assert "new 4" in (tree / "long.txt").read_text()
    assert not list(tree.glob("*.orig"))
    assert not list(tree.glob("*.rej"))


def test_what_a_killed_git_left_is_in_nobodys_way(edge: GitEdge, upstream: Any) -> None:
    """Stale locks and half packs of a killed run do not stop the next one."""
    bare = edge.fetch_commit(str(upstream.path), upstream.git("rev-parse", "v1.0"))
    commit = upstream.git("rev-parse", "main")
    left = [bare / "shallow.lock", bare / f"refs/torchbuild/{commit}.lock", bare / "objects/pack/tmp_pack_x"]
    for path in left:
        path.write_text("")
    edge.fetch_commit(str(upstream.path), commit)
    assert not any(path.exists() for path in left)


def test_git_ends_with_a_killed_torchbuild(web_server: Any, upstream: Any, tmp_path: Path) -> None:
    """After kill -9 of torchbuild no git writes to the cache; what holds the line ends as soon as that moves."""
    url = serve(web_server, upstream)
    reached, over = threading.Event(), threading.Event()

    def hang(handler: Any) -> None:
        reached.set()
        over.wait(60)

    web_server.replies["/git/project/.git/git-upload-pack"] = [hang]
    code = (
        "from pathlib import Path; from torchbuild.edges.git import GitEdge; "
        f"GitEdge(Path({str(tmp_path / 'cache')!r})).fetch_commit({url!r}, {upstream.git('rev-parse', 'main')!r})"
    )
    run = psutil.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    try:
        assert reached.wait(60)
        children = run.children(recursive=True)
        handles = {child.pid: os.pidfd_open(child.pid) for child in children}
        run.kill()
        run.wait()
        writer = select.select([handles[children[0].pid]], [], [], 10)[0]
    finally:
        over.set()
    ended = [bool(select.select([handle], [], [], 10)[0]) for handle in handles.values()]
    for handle in handles.values():
        os.close(handle)
    assert writer
    assert all(ended)


def test_a_machine_without_git_is_told_so(
    tmp_path: Path, upstream: Any, monkeypatch: pytest.MonkeyPatch, edge: GitEdge
) -> None:
    """Without git the error names it and how to install it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "env").symlink_to(str(shutil.which("env")))
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(HostError) as caught:
        edge.resolve_ref(str(upstream.path), "main")
    assert caught.value.reference == "git-missing"


def test_a_machine_that_never_had_git_is_told_so(tmp_path: Path) -> None:
    """Where even the library that wraps git refuses to load, the user hears of git and not of an import."""
    code = (
        "from pathlib import Path; from torchbuild.edges.git import GitEdge; from torchbuild.errors import HostError\n"
        f"try: GitEdge(Path({str(tmp_path)!r})).resolve_ref('https://127.0.0.1:1/x', 'main')\n"
        "except HostError as error: print(error.reference)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "git-missing\n", done.stderr
