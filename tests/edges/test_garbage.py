"""What is not needed goes, what was used last stays longest, and what a live lock names is never touched."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from torchbuild.edges.atomic import TEMP_PREFIX
from torchbuild.edges.garbage import Collected, Places, collect
from torchbuild.edges.git_cache import bare_of
from torchbuild.edges.live_locks import register
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import UsageError

KIB = 1 << 10
URL = "https://git.example/project.git"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A machine that holds nothing."""
    return Places(
        store=DirectoryStore(tmp_path / "store"),
        repositories=tmp_path / "git",
        parts=tmp_path / "partial",
        roots=tmp_path / "roots",
        builds=tmp_path / "builds",
        live=tmp_path / "live",
    )


def stored(places: Places, tmp_path: Path, name: str, used: float) -> Path:
    """A file of a hundred KiB whose last use was then."""
    source = tmp_path / "source"
    source.write_bytes(name.encode() * (100 * KIB // len(name)))
    path = places.store.add(source, hashlib.sha256(source.read_bytes()).hexdigest())
    os.utime(path, (used, used))
    return path


def repository(places: Places, url: str, used: float) -> Path:
    """A repository of a hundred KiB in the cache."""
    path = bare_of(places.repositories, url)
    path.mkdir(parents=True)
    (path / "pack").write_bytes(os.urandom(100 * KIB))
    os.utime(path, (used, used))
    return path


def locked(places: Places, run: str, text: str) -> Path:
    """A workspace whose lock says so."""
    with open_workspace(places.builds, run, store=places.builds, cache=places.builds) as workspace:
        (workspace.path / "lock.toml").write_text(text)
    return workspace.path


def gone(done: Collected) -> list[Path]:
    """What was removed, in order."""
    return [item.path for item in done.removed]


def why(done: Collected, path: Path) -> str:
    """Why something is still there."""
    (reason,) = [item.why for item in done.kept if item.path == path]
    return reason


def test_what_no_lock_names_goes(places: Places, tmp_path: Path) -> None:
    """Files, repositories and parts of downloads; the bytes are told, and are free."""
    paths = [stored(places, tmp_path, "one", 1.0), repository(places, URL, 2.0)]
    part = places.parts / ("a" * 64)
    part.parent.mkdir()
    part.write_bytes(b"half")
    part.with_name(f"{part.name}.json").write_text("{}")

    done = collect(places)

    assert set(gone(done)) == {*paths, part}
    assert done.freed == done.size > 200 * KIB
    assert (done.left, done.kept) == (0, ())
    assert not any(path.exists() for path in (*paths, part, part.with_name(f"{part.name}.json")))


def test_what_a_workspaces_lock_names_stays(places: Places, tmp_path: Path) -> None:
    """By digest and by address, whatever its age and whatever the limit."""
    file, other = stored(places, tmp_path, "one", 1.0), stored(places, tmp_path, "two", 9.0)
    bare = repository(places, URL, 1.0)
    locked(places, "run", f'[source]\nurl = "{URL}"\nsubmodules = [{{ sha256 = "{file.name}" }}]\n')

    done = collect(places, most=0)

    assert gone(done) == [other]
    assert why(done, file) == why(done, bare) == "a live lock names it"
    assert file.exists()
    assert bare.exists()


@pytest.mark.parametrize(
    "text",
    ["{0} {1}", "schema = 99\nnew = [[['{1}', \"{0}\"]]]", "url = '{1}'\n\x00 broken [ = {0}"],
    ids=["bare", "newer", "damaged"],
)
def test_a_lock_that_nobody_understands_still_counts(places: Places, tmp_path: Path, text: str) -> None:
    """A newer version wrote it, or the disk was full: what it seems to name is not removed."""
    file = stored(places, tmp_path, "one", 1.0)
    locked(places, "run", text.format(file.name, URL))

    assert file not in gone(collect(places))


def test_another_lock_can_be_named(places: Places, tmp_path: Path) -> None:
    """A lock beside a recipe, of which there is no run on this machine."""
    file = stored(places, tmp_path, "one", 1.0)
    lock = tmp_path / "recipe.lock"
    lock.write_text(f'sha256 = "{file.name}"\n')

    assert gone(collect(places, keep_locks=[lock])) == []
    assert gone(collect(places)) == [file]


def test_a_lock_to_keep_that_is_not_there_stops_all(places: Places, tmp_path: Path) -> None:
    """A misspelt path does not cost the files that it was to keep."""
    file = stored(places, tmp_path, "one", 1.0)

    with pytest.raises(UsageError) as caught:
        collect(places, keep_locks=[tmp_path / "recipe.lok"])

    assert caught.value.reference == "keep-lock-missing"
    assert file.exists()


def test_what_was_used_least_recently_goes_first(places: Places, tmp_path: Path) -> None:
    """Of files and repositories alike, until what is left is below the limit."""
    paths = [stored(places, tmp_path, name, used) for name, used in (("one", 3.0), ("two", 1.0))]
    bare = repository(places, URL, 2.0)

    done = collect(places, most=150 * KIB)

    assert gone(done) == [paths[1], bare]
    assert why(done, paths[0]) == "the limit is kept with it"
    assert done.left <= 150 * KIB


def test_a_use_is_remembered(places: Places, tmp_path: Path) -> None:
    """A file that a build asked for again is the last to go."""
    first, second = (stored(places, tmp_path, name, used) for name, used in (("one", 1.0), ("two", 2.0)))
    places.store.get(first.name)

    assert gone(collect(places, most=150 * KIB)) == [second]


def test_an_unpacked_image_goes_with_the_last_lock_of_it(places: Places) -> None:
    """By its id; an image that somebody brought as a file is theirs."""
    used, unused = places.roots / ("a" * 64), places.roots / ("b" * 64)
    for path in (used, unused):
        (path / "etc").mkdir(parents=True)
        path.with_name(f"{path.name}.json").write_text("{}")
    brought = places.roots / "builder.tar"
    brought.touch()
    locked(places, "run", f'[image]\nid = "{used.name}"\n')

    done = collect(places)

    assert gone(done) == [unused]
    assert not unused.with_name(f"{unused.name}.json").exists()
    assert used.is_dir()
    assert brought.exists()


def test_a_dry_run_removes_nothing(places: Places, tmp_path: Path) -> None:
    """It tells what a real one would do, and needs no right to do it."""
    paths = [stored(places, tmp_path, "one", 1.0), repository(places, URL, 2.0)]

    done = collect(places, dry_run=True)

    assert gone(done) == paths
    assert all(path.exists() for path in paths)


def test_an_empty_machine_is_clean(places: Places) -> None:
    """And nothing is made there."""
    done = collect(places, most=0)

    assert (done.removed, done.kept, done.size) == ((), (), 0)
    assert not places.store.root().exists()


def test_builds_may_run_meanwhile(places: Places, tmp_path: Path) -> None:
    """What a running build's lock names stays, and only that: space can be freed for it."""
    mine, other = stored(places, tmp_path, "one", 1.0), stored(places, tmp_path, "two", 2.0)
    path = locked(places, "run", mine.name)

    with open_workspace(places.builds, path.name, store=places.builds, cache=places.builds):
        assert gone(collect(places)) == [other]
    assert mine.exists()


def test_while_a_lock_is_made_nothing_goes(places: Places, tmp_path: Path) -> None:
    """What it fetched is named by nothing yet."""
    file = stored(places, tmp_path, "one", 1.0)

    with places.store.shared():
        done = collect(places)

    assert gone(done) == []
    assert "a lock is in the making" in why(done, file)
    assert gone(collect(places)) == [file]


def test_a_repository_that_is_being_fetched_stays(places: Places) -> None:
    """Its lock is held by whoever fetches; the rest goes."""
    busy, idle = repository(places, URL, 1.0), repository(places, f"{URL}2", 2.0)

    with FileLock(f"{busy}.lock"):
        done = collect(places)

    assert gone(done) == [idle]
    assert "another process fetches it now" in why(done, busy)
    assert (busy / "pack").exists()


def test_what_a_killed_process_left_goes_first(places: Places, tmp_path: Path) -> None:
    """Half a file under a temporary name is no use to anybody."""
    file = stored(places, tmp_path, "one", 1.0)
    left = file.parent / f"{TEMP_PREFIX}x"
    left.write_bytes(bytes(200 * KIB))
    os.utime(left, (0, 0))

    done = collect(places, most=150 * KIB)

    assert gone(done) == [left]
    assert file.exists()


def test_what_somebody_else_put_there_stays(places: Places, tmp_path: Path) -> None:
    """Links and names that are none of ours are not even looked at."""
    stored(places, tmp_path, "one", 1.0)
    (tmp_path / "precious").mkdir()
    places.repositories.mkdir()
    (places.repositories / "link.git").symlink_to(tmp_path / "precious")
    (places.repositories / "notes.txt").touch()
    places.parts.mkdir()
    (places.parts / "notes.txt").touch()

    collect(places)

    assert (tmp_path / "precious").is_dir()
    assert (places.repositories / "notes.txt").exists()
    assert (places.parts / "notes.txt").exists()


def test_who_names_files_waits_for_a_collection(places: Places, tmp_path: Path) -> None:
    """A build that begins in the middle of one finds its files whole or gone, never on the way out."""
    stored(places, tmp_path, "one", 1.0)
    order: list[str] = []
    begun, done = threading.Event(), threading.Event()

    def name_files() -> None:
        begun.set()
        with places.store.shared():
            order.append("build")
        done.set()

    with places.store.alone() as is_alone:
        assert is_alone
        threading.Thread(target=name_files, daemon=True).start()
        assert begun.wait(30)
        assert not done.wait(0.05)
        order.append("collection")
    assert done.wait(30)
    assert order == ["collection", "build"]


@pytest.mark.parametrize("times", [1, 3])
def test_any_number_may_name_files_at_once(places: Places, times: int) -> None:
    """Builds do not wait for one another, only for a collection, and it not for them."""
    assert not _nested(places, times)
    with places.store.alone() as is_alone:
        assert is_alone


def _nested(places: Places, left: int) -> bool:
    """Whether somebody can be alone while so many share."""
    if not left:
        with places.store.alone() as is_alone:
            return is_alone
    with places.store.shared():
        return _nested(places, left - 1)


def test_what_a_workspace_of_another_builds_folder_needs_stays(places: Places, tmp_path: Path) -> None:
    """Users of one cache have builds folders of their own; once the workspace is gone its files may go."""
    file, other = stored(places, tmp_path, "one", 1.0), stored(places, tmp_path, "two", 2.0)
    bare = repository(places, URL, 1.0)
    elsewhere = tmp_path / "other builds" / "run"
    elsewhere.mkdir(parents=True)
    register(places.live, elsewhere, f'url = "{URL}"\nsha256 = "{file.name}"\n')

    assert gone(collect(places, most=0)) == [other]
    elsewhere.rmdir()
    assert set(gone(collect(places, most=0, dry_run=True))) == {file, bare}
    assert list(places.live.iterdir())
    assert set(gone(collect(places, most=0))) == {file, bare}
    assert not list(places.live.iterdir())
