"""Recipes and locks on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.cli.recipe_files import (
    lock_path,
    public,
    read_lock,
    read_recipe,
    recipe_redactor,
    stale_lock,
    write_lock,
)
from torchbuild.edges.atomic import sha256_of
from torchbuild.errors import LockError, RecipeError
from torchbuild.model.lock import Lock, LockedPatch
from torchbuild.resolve.assemble import recipe_digest


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


@pytest.fixture
def recipe(machine: Path) -> Path:
    """A recipe that is right, and has no lock."""
    path = machine / "here" / "small.toml"
    path.write_text(
        'schema = 1\nname = "small"\n'
        '[source]\ngit = "https://git.example/small.git"\nref = "v1"\n'
        '[wheel]\npackage = "small"\nversion = "1.0"\n'
    )
    return path


def with_patch(recipe: Path, patch: str) -> Path:
    """The recipe with a patch named in it."""
    text = recipe.read_text()
    recipe.write_text(text.replace('ref = "v1"\n', f'ref = "v1"\npatches = ["{patch}"]\n'))
    return recipe


def refused(recipe: Path, **options: tuple[Path, ...]) -> str:
    """The reference with which reading ends."""
    with pytest.raises(RecipeError) as caught:
        read_recipe(recipe, **options)
    return caught.value.reference


def test_a_recipe_is_read_with_what_the_command_line_sets(recipe: Path) -> None:
    """--set wins over the file."""
    assert read_recipe(recipe, overrides=("wheel.version='2.0'",)).wheel.version == "2.0"


def test_a_recipe_may_not_name_files_elsewhere(recipe: Path) -> None:
    """A recipe from a stranger reads no file of this machine."""
    (recipe.parent.parent / "secret.patch").touch()

    assert refused(with_patch(recipe, "../secret.patch")) == "recipe-path-outside"


def test_a_link_does_not_lead_out_either(recipe: Path) -> None:
    """Links are followed before it is judged where a file lies."""
    (recipe.parent.parent / "secret.patch").touch()
    (recipe.parent / "inner.patch").symlink_to("../secret.patch")

    assert refused(with_patch(recipe, "inner.patch")) == "recipe-path-outside"


def test_links_in_a_circle_are_an_error_of_ours(recipe: Path) -> None:
    """A link to itself is said, not crashed on."""
    (recipe.parent / "loop").symlink_to("loop")

    assert refused(with_patch(recipe, "loop/x.patch")) in {"recipe-path-circular", "recipe-path-outside"}


def test_a_folder_can_be_allowed(recipe: Path) -> None:
    """Who starts the build may open further folders to the recipe."""
    other = recipe.parent.parent / "patches"
    other.mkdir()

    found = read_recipe(with_patch(recipe, "../patches/x.patch"), allowed=(other,))

    assert found.source.patches == ("../patches/x.patch",)


def test_recipes_may_share_a_base_in_the_folder_above(recipe: Path) -> None:
    """`extends` reaches one folder up, where recipes of one project have what they share."""
    base = recipe.parent.parent / "base.toml"
    base.write_text('[toolchain]\ncc = "clang"\n')
    recipe.write_text('extends = "../base.toml"\n' + recipe.read_text())

    assert read_recipe(recipe).toolchain.cc == "clang"


def test_a_base_farther_away_is_refused(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`extends` is no way to read any file."""
    base = tmp_path_factory.mktemp("elsewhere") / "base.toml"
    base.write_text('[toolchain]\ncc = "clang"\n')
    recipe.write_text(f'extends = "{os.path.relpath(base, recipe.parent)}"\n' + recipe.read_text())

    assert refused(recipe) == "recipe-path-outside"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
def test_a_file_that_cannot_be_read_is_named(recipe: Path, content: bytes | None) -> None:
    """Missing files and files that are no text are told apart from wrong recipes."""
    path = recipe.parent / "other.toml"
    if content is not None:
        path.write_bytes(content)

    assert refused(path) == "recipe-unreadable"


def test_the_lock_lies_beside_the_recipe(recipe: Path) -> None:
    """One finds the lock without being told."""
    assert lock_path(recipe) == recipe.parent / "small.lock"


def test_a_lock_is_believed_for_its_own_recipe_alone(recipe: Path, make_lock: Callable[..., Lock]) -> None:
    """What was written is read back; a recipe that has changed since makes it stale, and the change is told."""
    wanted, path = read_recipe(recipe), lock_path(recipe)
    lock = make_lock(recipe=recipe_digest(wanted))
    write_lock(path, lock)

    assert read_lock(path, wanted, recipe.parent) == lock
    assert stale_lock(path) == lock
    with pytest.raises(LockError) as caught:
        read_lock(path, read_recipe(recipe, overrides=("source.ref='v2'",)), recipe.parent)
    assert caught.value.reference == "lock-stale"
    assert any("source.ref" in line for line in caught.value.why)


@pytest.mark.parametrize(
    ("content", "reference"),
    [(None, "lock-missing"), (b"\xff", "lock-unreadable"), (b"x", "lock-unreadable")],
    ids=str,
)
def test_a_lock_that_is_none_is_said(recipe: Path, content: bytes | None, reference: str) -> None:
    """Missing and unreadable locks are told apart; for telling changes both are nothing."""
    path = lock_path(recipe)
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(LockError) as caught:
        read_lock(path, read_recipe(recipe), recipe.parent)

    assert caught.value.reference == reference
    assert stale_lock(path) is None


def test_credentials_of_an_address_decide_nothing_and_are_not_shown(recipe: Path) -> None:
    """Two people with two tokens make the same lock; neither token is ever printed."""
    wanted = read_recipe(recipe, overrides=("source.git='https://me:hunter2hunter2@git.example/small.git'",))

    assert public(wanted).source.git == "https://git.example/small.git"
    assert recipe_digest(public(wanted)) == recipe_digest(public(read_recipe(recipe)))
    assert recipe_redactor(wanted).redact("fatal: hunter2hunter2") == "fatal: ***"


def test_a_recipe_without_git_has_no_credentials(recipe: Path) -> None:
    """Archives and directories pass unchanged."""
    text = recipe.read_text().replace(
        'git = "https://git.example/small.git"\nref = "v1"', 'path = "."\nepoch = 1700000000'
    )
    recipe.write_text(text)
    wanted = read_recipe(recipe)

    assert public(wanted) == wanted


def test_a_patch_that_was_edited_makes_the_lock_stale(recipe: Path, make_lock: Callable[..., Lock]) -> None:
    """Nobody builds yesterday's patch from today's folder: --locked refuses, and a build locks anew."""
    patch = recipe.parent / "fix.patch"
    patch.write_text("one\n")
    wanted, path = read_recipe(with_patch(recipe, "fix.patch")), lock_path(recipe)
    made = make_lock(recipe=recipe_digest(wanted))
    locked = LockedPatch(name="fix.patch", sha256=sha256_of(patch), origin="recipe:fix.patch")
    write_lock(
        path, made.model_copy(update={"source": made.source.model_copy(update={"patches": (locked,)})})
    )
    assert read_lock(path, wanted, recipe.parent).source.patches == (locked,)

    patch.write_text("two\n")
    with pytest.raises(LockError) as caught:
        read_lock(path, wanted, recipe.parent)
    assert caught.value.reference == "lock-stale"
    assert "fix.patch" in caught.value.why[0]

    patch.unlink()
    with pytest.raises(LockError):
        read_lock(path, wanted, recipe.parent)
