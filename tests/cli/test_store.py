"""`torchbuild store`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def test_an_empty_machine_holds_nothing(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To ask what there is works before anything was built, and makes nothing."""
    assert run_main(["store"]) == 0

    assert f"no runs in {machine / 'builds'}" in capsys.readouterr().out
    assert not (machine / "builds").exists()


def test_a_program_gets_paths_and_bytes(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes are numbers of bytes, places are paths."""
    assert run_main(["store", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert value["runs"] == []
    assert value["builds"] == str(machine / "builds")
    assert value["store"]["bytes"] == 0


def test_a_run_is_listed_with_its_recipe(desk: Any) -> None:
    """For a person by its name, which `shell` and `clean` take; whether a build holds it is said."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    run = desk.only_run().name

    text = desk.run("store").out
    (row,) = desk.run("store", "--json").json["runs"]

    assert f"  {run}\n" in text
    assert (row["run"], row["recipe"], row["busy"]) == (run, "tiny", False)
    assert row["bytes"] > 0


def files(desk: Any) -> list[Path]:
    """What the store holds."""
    return sorted(desk.places.store.glob("sha256/??/*"))


def test_what_no_lock_needs_is_collected(desk: Any) -> None:
    """Files of a lock that no run has; those of a run's lock stay, and it is said why."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    kept = files(desk)
    desk.stored("pypi:x/x-1-py3-none-any.whl", b"not needed any more")

    ended = desk.run("store", "gc")

    assert ended.code == 0
    assert ended.out.splitlines() == [
        "removed 1 items, 0.0 MB; 0.0 MB stay",
        f"  kept {len(kept)}: a live lock names it",
    ]
    assert files(desk) == kept


def test_a_dry_run_only_tells(desk: Any) -> None:
    """As JSON with each path, its bytes, and each reason."""
    artifact = desk.stored("pypi:x/x-1-py3-none-any.whl", b"not needed any more")

    value = desk.run("store", "gc", "--dry-run", "--json").json

    assert value["dry_run"] is True
    assert [(Path(item["path"]).name, item["bytes"]) for item in value["removed"]] == [(artifact.sha256, 19)]
    assert (value["bytes"], value["left"], value["kept"]) == (19, 0, [])
    assert len(files(desk)) == 1
    assert desk.run("store", "gc", "--dry-run").out.startswith("would remove 1 items")


def test_a_limit_that_locks_exceed_is_said(desk: Any) -> None:
    """With the way to get below it."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")

    ended = desk.run("store", "gc", "--max", "1 B")

    assert ended.code == 0
    assert "still above 0.0 MB: `torchbuild clean RUN` frees" in ended.out
    assert files(desk)


def test_files_of_a_lock_beside_a_recipe_can_be_kept(desk: Any) -> None:
    """Where the recipe was locked and not built yet."""
    desk.lock()

    assert desk.run("store", "gc", "--keep-lock", "tiny.lock").code == 0
    assert len(files(desk)) == 1
    assert desk.run("store", "gc", "--keep-lock", "tinny.lock").code == 2
    assert desk.run("store", "gc").code == 0
    assert files(desk) == []


@pytest.mark.parametrize("size", ["", "much", "-1", "1 PiB"])
def test_a_limit_that_is_no_size_is_refused(desk: Any, size: str) -> None:
    """Before anything is looked at."""
    ended = desk.run("store", "gc", "--max", size)

    assert (ended.code, "usage-wrong" in ended.err) == (2, True)


def test_a_damaged_file_is_found(desk: Any) -> None:
    """By reading all; with --remove it goes, and the next build fetches it again."""
    artifact = desk.stored("pypi:x/x-1-py3-none-any.whl", b"whole")
    assert desk.run("store", "verify").out == "1 of 1 files are what their names say\n"
    (path,) = files(desk)
    path.chmod(0o644)
    path.write_bytes(b"whale")

    ended = desk.run("store", "verify")
    removed = desk.run("store", "verify", "--remove", "--json").json

    assert ended.code == 6
    assert "error[store-file-damaged]" in ended.err
    assert artifact.sha256 in ended.err
    assert removed == {"files": 1, "removed": [artifact.sha256], "bytes": 5}
    assert files(desk) == []


def test_reading_a_file_again_is_no_use_of_it(desk: Any) -> None:
    """Else a check of the store would make everything look needed."""
    import os

    desk.stored("pypi:x/x-1-py3-none-any.whl", b"whole")
    (path,) = files(desk)
    os.utime(path, (1000, 1000))

    desk.run("store", "verify")

    assert path.stat().st_atime < 10**9 or path.stat().st_atime == 1000


def elsewhere(desk: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """From here on the caller is somebody else, with a builds folder of their own and the same cache."""
    path: Path = desk.places.builds.with_name("other builds")
    monkeypatch.setenv("TORCHBUILD_BUILDS", str(path))
    return path


def test_what_somebody_elses_run_needs_is_not_collected(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache is shared, builds folders are not: their next build finds its files."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    kept = files(desk)
    elsewhere(desk, monkeypatch)

    ended = desk.run("store", "gc")

    assert ended.out.splitlines()[0] == "removed 0 items, 0.0 MB; 0.0 MB stay"
    assert files(desk) == kept


def test_a_limit_of_ones_own_takes_nothing_from_others(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`machine.store_max` after a build is a collection like any other."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    elsewhere(desk, monkeypatch)
    wheel = desk.stored("pypi:pip/pip-26.1-py3-none-any.whl", b"another pip")
    desk.lock(build_requires=(wheel,))
    limit = ("--set", 'machine.store_max="1 B"')

    assert desk.run("build", "tiny.toml", "--locked", "--until", "fetch", *limit).code == 0
    assert len(files(desk)) == 2


def test_unpacked_images_and_leftovers_are_listed(desk: Any) -> None:
    """Whatever takes space has a line."""
    root = desk.places.roots / ("a" * 64)
    room = desk.places.cache / "images"
    for folder in (root, room):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x" * 8192)

    text, value = desk.run("store").out, desk.run("store", "--json").json

    assert f"  {root}\n" in text
    assert [item["path"] for item in value["images"]] == [str(root)]
    assert str(room) in {item["path"] for item in value["caches"] if item["bytes"]}
