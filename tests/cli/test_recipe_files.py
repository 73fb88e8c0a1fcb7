"""Recipes and locks on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.cli.recipe_files import (
    lock_path,
    lock_to_write,
    public,
    read_lock,
    read_recipe,
    recipe_redactor,
    stale_lock,
    write_lock,
)
from torchbuild.edges.atomic import sha256_of
from torchbuild.errors import LockError, RecipeError, UsageError
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


@pytest.mark.parametrize("above", ["base.toml", "shared/base.toml"])
def test_a_base_outside_the_folder_is_refused(recipe: Path, above: str) -> None:
    """`extends` is no way to read any file: not one in the folder above, not one beside it."""
    base = recipe.parent.parent / above
    base.parent.mkdir(exist_ok=True)
    base.write_text('[toolchain]\ncc = "clang"\n')
    recipe.write_text(f'extends = "../{above}"\n' + recipe.read_text())

    assert refused(recipe) == "recipe-path-outside"
    assert read_recipe(recipe, allowed=(base.parent,)).toolchain.cc == "clang"


def test_a_base_may_lie_below(recipe: Path) -> None:
    """Recipes of one project share what lies in a folder beside them, and in one beside that."""
    base = recipe.parent / "base" / "cpu.toml"
    base.parent.mkdir()
    base.write_text('extends = "../all.toml"\n[toolchain]\ncc = "clang"\n')
    (recipe.parent / "all.toml").write_text('[toolchain]\ncxx = "clang++"\n')
    recipe.write_text('extends = "base/cpu.toml"\n' + recipe.read_text())

    assert read_recipe(recipe).toolchain.cc == "clang"
    assert read_recipe(recipe).toolchain.cxx == "clang++"


def test_a_base_that_is_a_link_out_is_refused(recipe: Path) -> None:
    """Links are followed before it is judged where a base lies."""
    (recipe.parent.parent / "base.toml").write_text('[toolchain]\ncc = "clang"\n')
    (recipe.parent / "base.toml").symlink_to("../base.toml")
    recipe.write_text('extends = "base.toml"\n' + recipe.read_text())

    assert refused(recipe) == "recipe-path-outside"


def test_a_path_that_leads_out_is_told_where_it_stands(recipe: Path) -> None:
    """The patch that a base names is looked for beside the base, and blamed on the line of the base."""
    base = recipe.parent / "base" / "cpu.toml"
    base.parent.mkdir()
    base.write_text('[source]\npatches = ["good.patch", "../../secret.patch"]\n')
    recipe.write_text('extends = "base/cpu.toml"\n' + recipe.read_text())

    with pytest.raises(RecipeError) as caught:
        read_recipe(recipe)

    (problem,) = caught.value.problems
    assert (problem.path, problem.seen) == ("source.patches[1]", '"../secret.patch"')
    assert (problem.file, problem.line) == (str(base), 2)


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


@pytest.mark.parametrize(
    "key", ["source.ref=v2", "build.flags.USE_X=true", "wheel={version='2.0'}", "machines=1"]
)
def test_a_changed_recipe_does_not_replace_the_lock_of_the_file(recipe: Path, key: str) -> None:
    """An experiment with --set never overwrites the lock that is under version control."""
    with pytest.raises(UsageError) as caught:
        lock_to_write(recipe, None, (key,))

    assert caught.value.reference == "lock-not-named"
    assert lock_to_write(recipe, recipe.parent / "other.lock", (key,)) == recipe.parent / "other.lock"


@pytest.mark.parametrize(
    ("is_dev", "name"), [(False, "torch-2.6-cpu-changed.lock"), (True, "torch-2.6-cpu-changed.dev.lock")]
)
def test_the_lock_of_an_experiment_has_the_recipes_whole_name(
    tmp_path: Path, is_dev: bool, name: str
) -> None:
    """A name with dots is advised whole: else all releases would share one lock."""
    with pytest.raises(UsageError) as caught:
        lock_to_write(tmp_path / "torch-2.6-cpu.toml", None, ("build.type=Debug",), is_dev=is_dev)

    assert caught.value.fix.endswith(f"--lock {name}.")


@pytest.mark.parametrize("keys", [(), ("machine.jobs=2",), ("machine={jobs=2}", "machine.index_url=x")])
def test_the_machine_is_in_no_lock(recipe: Path, keys: tuple[str, ...]) -> None:
    """What --set says of this machine leaves the recipe what it is, and its lock where it is."""
    assert lock_to_write(recipe, None, keys) == recipe.with_suffix(".lock")


def test_no_folder_is_made_for_a_lock(recipe: Path) -> None:
    """A misspelt --lock leaves nothing behind, and is told before anything is looked up."""
    with pytest.raises(UsageError) as caught:
        lock_to_write(recipe, Path("no/such folder/x.lock"), ())

    assert caught.value.reference == "lock-folder-missing"
    assert "mkdir -p 'no/such folder'" in caught.value.fix
    assert list(recipe.parent.iterdir()) == [recipe]
