"""The stage that lays the tree, and everything that changes it before the build."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.manifest import tree_digest
from torchbuild.errors import FetchError, HostError, RecipeError, StageError
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import (
    Lock,
    LockedOverlay,
    LockedPatch,
    LockedPrepare,
    LockedSource,
    LockedSubmodule,
)
from torchbuild.stages import source

MakeLock = Callable[..., Lock]
COMMIT, SUB = "a" * 40, "b" * 40
URL = "https://example.org/torchlet"


def git_source(**more: Any) -> LockedSource:
    """A tree at a commit."""
    return LockedSource(kind="git", url=URL, commit=COMMIT, **more)


def packed(files: dict[str, str]) -> bytes:
    """A tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


def patch_of(world: Any, name: str, text: bytes = b"--- a\n") -> LockedPatch:
    """A patch of the recipe, in the store."""
    stored = world.stored(f"file:{name}", text)
    return LockedPatch(name=name, sha256=stored.sha256, origin=f"recipe:{name}")


def run(world: Any, lock: Lock) -> source.Result:
    """The stage."""
    return source.run(source.plan(lock), world.context)


def test_the_plan_comes_from_the_lock_alone(make_lock: MakeLock, nothing_moves: Callable[[], Any]) -> None:
    """Commands are those of overlays out of the image and of preparation, at their places."""
    steps = (
        LockedPrepare(argv=("/usr/bin/flatc", "--cpp"), cwd="csrc"),
        LockedPrepare(argv=("python3", "gen.py"), cwd="."),
    )
    overlay = LockedOverlay(path="/usr/share/kineto", to="third_party/kineto")
    lock = make_lock(source=git_source(overlays=(overlay,), prepare=steps))
    with nothing_moves():
        plan = source.plan(lock)

    assert [command.argv for command in plan.commands] == [
        ("/bin/cp", "-a", "--no-target-directory", "/usr/share/kineto", "{source}/third_party/kineto"),
        ("/usr/bin/flatc", "--cpp"),
        ("/usr/bin/env", "python3", "gen.py"),
    ]
    assert [command.cwd for command in plan.commands] == ["{work}", "{source}/csrc", "{source}/."]
    assert {command.network for command in plan.commands} == {"none"}


def test_submodules_lie_in_their_places(world: Any, make_lock: MakeLock) -> None:
    """A submodule fills the empty directory that the tree has for it, at its own commit."""
    world.git.trees = {COMMIT: {"setup.py": "", "third_party/fmt/": ""}, SUB: {"fmt.h": "int f;"}}
    module = LockedSubmodule(path="third_party/fmt", url="https://example.org/fmt", commit=SUB)

    result = run(world, make_lock(source=git_source(submodules=(module,))))

    assert world.inside("{source}/third_party/fmt/fmt.h").read_text(encoding="utf-8") == "int f;"
    assert result.summary == "0 patches, 1 submodules"


def test_submodules_of_submodules_lie_inside_them(world: Any, make_lock: MakeLock) -> None:
    """Each is laid after the one that it lies in, whatever their names."""
    world.git.trees = {
        COMMIT: {"a/": "", "a-b/": ""},
        SUB: {"deep/": "", "a.h": ""},
        "d" * 40: {"deep/": ""},
        "e" * 40: {"e.h": ""},
    }
    places = {"a": SUB, "a-b": "d" * 40, "a/deep": "e" * 40, "a-b/deep": "e" * 40}
    modules = tuple(
        LockedSubmodule(path=path, url="https://example.org/x", commit=commit)
        for path, commit in sorted(places.items())
    )

    run(world, make_lock(source=git_source(submodules=modules)))

    tree = world.inside("{source}")
    laid = {str(path.relative_to(tree)) for path in tree.rglob("*.h")}
    assert laid == {"a/a.h", "a/deep/e.h", "a-b/deep/e.h"}


def test_a_commit_that_is_gone_from_the_cache_is_not_fetched_here(world: Any, make_lock: MakeLock) -> None:
    """Only fetch may use the network; the message says how to get back what was removed."""
    world.git.trees, world.git.gone = {COMMIT: {"setup.py": ""}}, {COMMIT}

    with pytest.raises(FetchError) as caught:
        run(world, make_lock())

    assert caught.value.reference == "cached-commit-gone"
    assert world.git.fetched == []


def test_a_tree_that_was_left_unfinished_is_thrown_away(world: Any, make_lock: MakeLock) -> None:
    """What an earlier run left, read-only directories included, is not in the tree."""
    world.git.trees = {COMMIT: {"setup.py": ""}}
    left = world.write("{source}/old/half.py", "")
    left.parent.chmod(0o555)

    run(world, make_lock())

    assert [path.name for path in world.inside("{source}").iterdir()] == ["setup.py"]


def test_the_digest_says_what_the_tree_is(world: Any, make_lock: MakeLock) -> None:
    """The same tree has the same digest, wherever and whenever; another has another."""
    digests = []
    for text in ("one", "one", "two"):
        world.git.trees = {COMMIT: {"setup.py": text}}
        digests.append(dict(run(world, make_lock()).evidence)["tree"])

    assert digests[0] == digests[1] != digests[2]


def test_an_archive_is_unpacked(world: Any, make_lock: MakeLock) -> None:
    """Leading components go away as the recipe says."""
    archive = world.stored("https://example.org/t.tar.gz", packed({"torchlet-1/setup.py": "x"}))

    run(world, make_lock(source=LockedSource(kind="archive", artifact=archive, strip=1)))

    assert world.inside("{source}/setup.py").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "torchlet-1/../../evil"])
def test_an_archive_that_leaves_its_place_is_refused(world: Any, make_lock: MakeLock, name: str) -> None:
    """Nothing of it lands anywhere."""
    archive = world.stored("https://example.org/t.tar.gz", packed({"torchlet-1/a": "x", name: "y"}))

    with pytest.raises(FetchError) as caught:
        run(world, make_lock(source=LockedSource(kind="archive", artifact=archive, strip=0)))

    assert caught.value.reference == "archive-unsafe-member"
    assert not world.inside("{source}").exists()


def test_a_directory_is_copied_and_compared(world: Any, make_lock: MakeLock) -> None:
    """What is built is what was locked: links stay links, and a change since then ends the build."""
    tree = world.folder / "recipe" / "tree"
    tree.mkdir()
    (tree / "setup.py").write_text("x", encoding="utf-8")
    (tree / "link").symlink_to("setup.py")
    locked = LockedSource(kind="path", path="tree", tree=tree_digest(tree, without=(".git",)))

    run(world, make_lock(source=locked))

    assert world.inside("{source}").joinpath("link").readlink() == Path("setup.py")
    (tree / "setup.py").write_text("y", encoding="utf-8")
    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=locked))
    assert caught.value.reference == "source-changed"


def test_a_repository_in_a_directory_stays_behind(world: Any, make_lock: MakeLock) -> None:
    """The digest says nothing of it, so it may say nothing to the build: neither hooks nor history."""
    tree = world.folder / "recipe" / "tree"
    (tree / ".git" / "hooks").mkdir(parents=True)
    (tree / "sub").mkdir()
    (tree / "sub" / ".git").write_text("gitdir: /elsewhere\n", encoding="utf-8")
    (tree / "sub" / "x.c").write_text("", encoding="utf-8")
    (tree / ".gitignore").write_text("", encoding="utf-8")

    run(
        world,
        make_lock(source=LockedSource(kind="path", path="tree", tree=tree_digest(tree, without=(".git",)))),
    )

    laid = world.inside("{source}")
    assert sorted(str(path.relative_to(laid)) for path in laid.rglob("*")) == [".gitignore", "sub", "sub/x.c"]


def test_a_directory_that_is_gone_is_said(world: Any, make_lock: MakeLock) -> None:
    """A path that no longer exists is an error of ours, not a crash."""
    with pytest.raises(HostError):
        run(world, make_lock(source=LockedSource(kind="path", path="gone", tree="0" * 64)))


def test_patches_are_applied_in_order_under_their_names(world: Any, make_lock: MakeLock) -> None:
    """Those of a series come out of its archive; each has the digest of the lock."""
    series = world.stored("https://example.org/d.tar.gz", packed({"debian/patches/first.patch": "first"}))
    first = LockedPatch(
        name="first.patch",
        sha256=hashlib.sha256(b"first").hexdigest(),
        origin="series:debian/patches/first.patch",
    )
    world.git.trees = {COMMIT: {"setup.py": ""}}
    own = patch_of(world, "fix.patch", b"\xff not UTF-8")

    result = run(world, make_lock(source=git_source(series=series, patches=(first, own))))

    assert [(name.partition("-")[2], text) for name, text in world.git.applied] == [
        ("first.patch", b"first"),
        ("fix.patch", b"\xff not UTF-8"),
    ]
    assert dict(result.evidence)["patches"] == "2"


def test_a_patch_of_a_series_that_changed_is_refused(world: Any, make_lock: MakeLock) -> None:
    """The digest in the lock is the patch's own, not only the archive's."""
    series = world.stored("https://example.org/d.tar.gz", packed({"p/first.patch": "other"}))
    patch = LockedPatch(name="first.patch", sha256="0" * 64, origin="series:p/first.patch")
    world.git.trees = {COMMIT: {"setup.py": ""}}

    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=git_source(series=series, patches=(patch,))))

    assert caught.value.reference == "patch-changed"
    assert world.git.applied == []


def test_a_patch_without_its_archive_is_refused(world: Any, make_lock: MakeLock) -> None:
    """A lock that was altered by hand does not lead to a crash."""
    patch = LockedPatch(name="first.patch", sha256="0" * 64, origin="series:p/first.patch")
    world.git.trees = {COMMIT: {"setup.py": ""}}

    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=git_source(patches=(patch,))))

    assert caught.value.reference == "patch-changed"


def overlaid(world: Any, make_lock: MakeLock, tree: dict[str, str], **more: Any) -> None:
    """A tree with an archive laid over it."""
    archive: Artifact = world.stored(
        "https://example.org/o.tar.gz", packed({"top/data/x.txt": "x", "top/rest.txt": "r"})
    )
    world.git.trees = {COMMIT: tree}
    overlay = LockedOverlay(artifact=archive, **more)
    run(world, make_lock(source=git_source(overlays=(overlay,))))


def test_an_overlay_lies_where_it_was_wanted(world: Any, make_lock: MakeLock) -> None:
    """Of one directory of an archive, its contents; nothing of ours is left behind."""
    overlaid(world, make_lock, {"setup.py": ""}, to="third_party/data", only="data", strip=1)

    place = world.inside("{source}/third_party/data")
    assert [path.name for path in place.iterdir()] == ["x.txt"]
    assert not (world.workspace.path / "overlay").exists()


def test_a_whole_archive_fills_an_empty_directory(world: Any, make_lock: MakeLock) -> None:
    """The empty directory of a missing submodule is such a place."""
    overlaid(world, make_lock, {"third_party/kineto/": ""}, to="third_party/kineto", strip=1)

    names = {path.name for path in world.inside("{source}/third_party/kineto").iterdir()}
    assert names == {"data", "rest.txt"}


def test_overlays_are_laid_in_the_order_of_the_recipe(world: Any, make_lock: MakeLock) -> None:
    """Each finds what those before it laid, whether they came out of the image or out of an archive."""
    archive = world.stored("https://example.org/o.tar.gz", packed({"top/x.txt": "x"}))
    world.git.trees = {COMMIT: {"setup.py": ""}}
    seen: list[list[str]] = []

    def copy(command: Any, there: Any) -> tuple[int, tuple[str, ...]]:
        place = there.inside(command.argv[-1])
        seen.append(sorted(path.name for path in place.parent.iterdir()))
        place.mkdir()
        return 0, ()

    world.executor.replies = [copy, copy]
    overlays = (
        LockedOverlay(path="/usr/share/first", to="deps/first"),
        LockedOverlay(artifact=archive, to="deps/first/second", strip=1),
        LockedOverlay(path="/usr/share/third", to="deps/third"),
    )

    run(world, make_lock(source=git_source(overlays=overlays)))

    assert seen == [[], ["first"]]
    assert world.inside("{source}/deps/first/second/x.txt").is_file()


def test_a_directory_of_the_image_replaces_nothing(world: Any, make_lock: MakeLock) -> None:
    """Not even what an overlay before it laid."""
    archive = world.stored("https://example.org/o.tar.gz", packed({"top/x.txt": "x"}))
    world.git.trees = {COMMIT: {"setup.py": ""}}
    overlays = (
        LockedOverlay(artifact=archive, to="deps", strip=1),
        LockedOverlay(path="/usr/share/x", to="deps"),
    )

    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=git_source(overlays=overlays)))

    assert caught.value.reference == "overlay-over-files"
    assert world.executor.commands == []


@pytest.mark.parametrize(
    "tree",
    [{"place/file": ""}, {"place": "a file"}, {"place": "-> setup.py"}, {"place": "-> nowhere"}],
    ids=["filled", "file", "link", "dangling-link"],
)
def test_an_overlay_replaces_nothing(world: Any, make_lock: MakeLock, tree: dict[str, str]) -> None:
    """What is there already is not ours to remove."""
    with pytest.raises(StageError) as caught:
        overlaid(world, make_lock, tree, to="place", strip=1)

    assert caught.value.reference == "overlay-over-files"


def test_an_overlay_does_not_leave_the_tree_through_a_link(world: Any, make_lock: MakeLock) -> None:
    """A hostile tree cannot make us write elsewhere."""
    outside = world.folder / "outside"
    outside.mkdir()

    with pytest.raises(RecipeError) as caught:
        overlaid(world, make_lock, {"way": f"-> {outside}"}, to="way/in", strip=1)

    assert caught.value.reference == "path-outside-build"
    assert list(outside.iterdir()) == []


def test_a_directory_that_the_archive_lacks_is_said(world: Any, make_lock: MakeLock) -> None:
    """A misspelled `only` is an error, not an empty overlay."""
    with pytest.raises(FetchError) as caught:
        overlaid(world, make_lock, {"setup.py": ""}, to="place", only="dta", strip=1)

    assert caught.value.reference == "archive-member-missing"


def test_a_tree_that_leads_git_elsewhere_is_refused(world: Any, make_lock: MakeLock) -> None:
    """A .git file out of an archive may name any place of the machine that unpacks it."""
    archive = world.stored(
        "https://example.org/t.tar.gz", packed({"t/sub/.git": "gitdir: /root/private/.git\n", "t/x": ""})
    )

    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=LockedSource(kind="archive", artifact=archive, strip=1)))

    assert caught.value.reference == "git-outside-tree"
    assert "sub/.git" in caught.value.what


def test_files_that_only_name_others_are_told(world: Any, make_lock: MakeLock) -> None:
    """A warning with their paths: the build may never look at them."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n" + " " * 60
    world.git.trees = {COMMIT: {"setup.py": "", "data/a.bin": pointer}}

    (finding,) = run(world, make_lock(source=git_source())).findings

    assert (finding.reference, finding.outcome) == ("lfs-pointers", "warned")
    assert finding.what.endswith("data/a.bin")


def test_preparation_runs_in_order_into_one_log(world: Any, make_lock: MakeLock) -> None:
    """Every word of every step is kept."""
    world.git.trees = {COMMIT: {"setup.py": ""}}
    world.executor.replies = [(0, ["one"]), (0, ["two"])]
    steps = tuple(LockedPrepare(argv=("/bin/true", str(n)), cwd=".") for n in range(2))

    run(world, make_lock(source=git_source(prepare=steps)))

    assert [command.argv[1] for command in world.executor.commands] == ["0", "1"]
    assert (world.workspace.logs / "source.log").read_text(encoding="utf-8") == "one\ntwo\n"


def test_preparation_that_fails_ends_the_stage(world: Any, make_lock: MakeLock) -> None:
    """With the step, its exit code and its last words."""
    world.git.trees = {COMMIT: {"setup.py": ""}}
    world.executor.replies = [(3, ["flatc: no such file"])]
    step = LockedPrepare(argv=("/usr/bin/flatc", "a.fbs"), cwd=".")

    with pytest.raises(StageError) as caught:
        run(world, make_lock(source=git_source(prepare=(step,))))

    assert caught.value.reference == "prepare-failed"
    assert caught.value.why == ("exit code 3 of /usr/bin/flatc a.fbs",)
    assert caught.value.evidence == ("flatc: no such file",)
