"""The lock as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from torchbuild.model.lock import Lock

Change = Callable[[dict[str, Any]], None]


def _set(*path: Any, value: Any) -> Change:
    def change(table: dict[str, Any]) -> None:
        for part in path[:-1]:
            table = table[part]
        table[path[-1]] = value

    return change


def test_a_whole_lock_is_accepted(lock_table: dict[str, Any]) -> None:
    """What `torchbuild lock` writes can be read."""
    lock = Lock.model_validate(lock_table)

    assert lock.schema_version == 1
    assert lock.source.submodules[0].path == "third_party/a"
    assert lock.image is None


@pytest.mark.parametrize(
    "change",
    [
        _set("recipe", value="0" * 63),
        _set("build_requires", 0, "sha256", value="F" * 64),
        _set("build_requires", 0, "size", value=-1),
        _set("source", "commit", value="v1"),
        _set("source", "commit", value=""),
        _set("source", "url", value=""),
        _set("source", "kind", value="archive"),
        _set("source", "kind", value="path"),
        _set("source", "kind", value="svn"),
        _set("source", "submodules", 0, "commit", value="main"),
        _set("source", "submodules", 0, "path", value="../elsewhere"),
        _set("source", "overlays", value=({"path": "/usr/src", "to": "/etc"},)),
        _set("source", "overlays", value=({"path": "/usr/src", "to": "a", "only": "../x"},)),
        _set("source", "overlays", value=({"path": "/usr/src", "to": "a", "strip": 11},)),
        _set("source", "prepare", value=({"argv": ("/bin/true",), "cwd": "../.."},)),
        _set("source", "prepare", value=({"argv": (), "cwd": "."},)),
        _set("epoch", value=-1),
        _set("era", value="bazel"),
        _set("schema", value=2),
        _set("expect", value=({"reference": "a", "key": "b", "kind": "about", "value": "", "why": ""},)),
        _set("expect", value=()),
        _set("source", "submodules", 0, "path", value=".git/hooks"),
        _set("source", "overlays", value=({"path": "/usr/src", "to": "a/.git"},)),
        _set("wheel", "package", value="../x"),
        _set("wheel", "package", value="-r"),
        _set("wheel", "package", value=""),
        _set("wheel", "build_number", value=-1),
        _set("wheel", "extra", value=1),
        _set("jobs", value=8),
    ],
)
def test_a_lock_that_pins_less_is_refused(lock_table: dict[str, Any], change: Change) -> None:
    """A lock without a digest, with a path that climbs or with a key nobody knows is no lock."""
    change(lock_table)

    with pytest.raises(ValidationError):
        Lock.model_validate(lock_table)


@pytest.mark.parametrize(
    "key", ["name", "recipe", "source", "python", "environ", "expect", "wheel", "verify"]
)
def test_every_part_must_be_there(lock_table: dict[str, Any], key: str) -> None:
    """A truncated lock is not filled up with defaults."""
    del lock_table[key]

    with pytest.raises(ValidationError, match=key):
        Lock.model_validate(lock_table)


@pytest.mark.parametrize("requires", [None, (), ("numpy",)])
def test_no_requirements_known_is_not_no_requirements(
    lock_table: dict[str, Any], requires: tuple[str, ...] | None
) -> None:
    """A wheel of which nothing is known is told apart from one that needs nothing."""
    lock_table["wheel"]["requires"] = requires

    assert Lock.model_validate(lock_table).wheel.requires == requires


def test_every_file_is_fetched_once(lock_table: dict[str, Any], digest: str) -> None:
    """Archives, patches beside the recipe and wheels are all among the files, each digest a single time."""
    other = "ef" * 32
    lock_table["source"] |= {
        "series": {"locator": "debian:a/b/c.tar.xz", "sha256": "11" * 32},
        "patches": (
            {"name": "a.patch", "sha256": "22" * 32, "origin": "recipe:patches/a.patch"},
            {"name": "b.patch", "sha256": "33" * 32, "origin": "series:debian/patches/b.patch"},
        ),
        "overlays": (
            {"artifact": {"locator": "https://example.org/o.zip", "sha256": other}, "to": "a"},
            {"path": "/usr/src", "to": "b"},
        ),
    }
    lock_table["run_requires"] = lock_table["build_requires"]

    files = Lock.model_validate(lock_table).artifacts()

    assert [item.sha256 for item in files] == ["11" * 32, "22" * 32, other, digest]
    assert files[1].locator == "file:patches/a.patch"


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("nccl", "/usr"),
        ("nccl", "/torchbuild/venv"),
        ("nccl", "/torchbuild/parts/cuda"),
        ("nccl", "/torchbuild/parts/../venv"),
        ("nccl", "/"),
    ],
)
def test_pieces_are_laid_in_a_place_of_their_own(lock_table: dict[str, Any], name: str, prefix: str) -> None:
    """A lock of a stranger cannot have another place emptied."""
    piece = {"artifact": {"locator": "pypi:a/a-1.whl", "sha256": "0" * 64}}
    part = {"name": name, "provider": "wheels", "version": "2", "prefix": prefix, "pieces": (piece,)}

    with pytest.raises(ValidationError, match="lies at /torchbuild/parts/nccl alone"):
        Lock.model_validate(lock_table | {"parts": (part,)})


def test_a_part_of_the_builder_is_no_place_of_the_build(lock_table: dict[str, Any]) -> None:
    """What lies in the build was made by it; and there is one of each."""
    part = {"name": "cuda", "provider": "system", "version": "12.4", "prefix": "/torchbuild/source"}

    with pytest.raises(ValidationError, match="lies outside of /torchbuild"):
        Lock.model_validate(lock_table | {"parts": (part,)})
    with pytest.raises(ValidationError, match="a part is there twice"):
        Lock.model_validate(lock_table | {"parts": (part | {"prefix": "/usr"},) * 2})


def test_an_architecture_of_a_lock_is_one(lock_table: dict[str, Any]) -> None:
    """A word that nvcc has no name for is refused where the lock is read."""
    with pytest.raises(ValidationError):
        Lock.model_validate(lock_table | {"gpu_archs": ("banana",)})
