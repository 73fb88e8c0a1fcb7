"""What a source says of itself when it is locked."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from torchbuild.cli.locking import world
from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.source_answers import SourceAnswer, SourceReader, series_names
from torchbuild.errors import RecipeError, TorchbuildError

SERIES = "# patches of Debian\nfirst.patch\n\nsecond.patch -p1  # upstream\n  third.patch\n"


def test_a_series_is_read_in_order() -> None:
    """Comments and empty lines are nobody's patches."""
    assert series_names(SERIES, ()) == ("first.patch", "second.patch", "third.patch")


def test_excluded_patches_are_left_out() -> None:
    """The recipe decides what of a distribution's patches it wants."""
    assert series_names(SERIES, ("second.patch",)) == ("first.patch", "third.patch")


def test_a_patch_that_is_excluded_and_not_there_is_said() -> None:
    """A series that was renumbered does not silently apply what nobody wants."""
    with pytest.raises(RecipeError) as caught:
        series_names(SERIES, ("sceond.patch",))

    assert caught.value.reference == "series-exclude-unknown"


def test_a_patch_with_other_options_is_said() -> None:
    """What would be applied in another way than asked is not applied at all."""
    with pytest.raises(RecipeError) as caught:
        series_names("odd.patch -p0\n", ())

    assert caught.value.reference == "series-option-unknown"


# --- reading, from real repositories, archives and folders --------------------------------------------------


def git(*argv: str, cwd: Path) -> str:
    """Run git as nobody in particular."""
    who = {
        f"GIT_{role}_{key}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    when = {f"GIT_{role}_DATE": "2024-05-06T07:08:09+00:00" for role in ("AUTHOR", "COMMITTER")}
    environ = os.environ | who | when | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", *argv], cwd=cwd, env=environ, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(machine: Path) -> Path:
    """A repository with one commit, tagged v1."""
    path = machine / "tree.git"
    path.mkdir()
    git("init", "--quiet", "--template=", cwd=path)
    (path / "pyproject.toml").write_text("[build-system]\nrequires = []\n", encoding="utf-8")
    git("add", ".", cwd=path)
    git("commit", "--quiet", "--message=one", cwd=path)
    git("tag", "v1", cwd=path)
    return path


def packed(path: Path, files: dict[str, str]) -> str:
    """An archive; its digest."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(recipe: Path, source: str, *, allowed: tuple[Path, ...] = ()) -> SourceAnswer:
    """What is locked of this source."""
    recipe.write_text(
        f'schema = 1\nname = "small"\n[wheel]\npackage = "small"\nversion = "1.0"\n{source}', encoding="utf-8"
    )
    wanted = read_recipe(recipe, allowed=allowed)
    return SourceReader(world(wanted, places(), recipe.parent, allowed)).read(wanted)


def refused(recipe: Path, source: str) -> str:
    """The reference with which reading ends."""
    with pytest.raises(TorchbuildError) as caught:
        read(recipe, source)
    return caught.value.reference


PATH = '[source]\npath = "tree"\nepoch = 1700000000\n'


@pytest.fixture
def tree(recipe: Path) -> Path:
    """A tree beside the recipe."""
    path = recipe.parent / "tree"
    path.mkdir()
    (path / "pyproject.toml").write_text("[build-system]\n", encoding="utf-8")
    return path


def test_a_ref_becomes_a_commit_and_its_time(recipe: Path, repository: Path) -> None:
    """What counts from here on is the commit; the front end is read at it."""
    found = read(recipe, f'[source]\ngit = "{repository}"\nref = "v1"\n')

    assert found.source.commit == git("rev-parse", "HEAD", cwd=repository)
    assert found.epoch == 1714979289
    assert found.pyproject == b"[build-system]\nrequires = []\n"


def test_a_time_of_the_recipe_wins(recipe: Path, repository: Path) -> None:
    """A build can be made to agree with another one's clock."""
    found = read(recipe, f'[source]\ngit = "{repository}"\nref = "v1"\nepoch = 1700000000\n')

    assert found.epoch == 1700000000


def test_an_archive_is_taken_into_the_store(recipe: Path) -> None:
    """With its size; the front end is read out of it."""
    digest = packed(recipe.parent / "a.tar.gz", {"top/pyproject.toml": "[project]\n"})

    found = read(recipe, f'[source]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000\n')

    artifact = found.source.artifact
    assert artifact is not None
    assert (artifact.locator, artifact.size) == ("file:a.tar.gz", (recipe.parent / "a.tar.gz").stat().st_size)
    assert found.pyproject == b"[project]\n"


def test_a_folder_is_what_it_is_now(recipe: Path, tree: Path) -> None:
    """Any change is another source; its repository is not content."""
    before = read(recipe, PATH).source.tree
    (tree / ".git").mkdir()
    same = read(recipe, PATH).source.tree
    (tree / "new").touch()

    assert before == same != read(recipe, PATH).source.tree


def test_patches_and_a_series_of_the_recipe_are_locked_in_order(recipe: Path, tree: Path) -> None:
    """The series first, without what is excluded."""
    folder = recipe.parent / "patches"
    folder.mkdir()
    (folder / "series").write_text("one.patch\ntwo.patch\n", encoding="utf-8")
    for name in ("one", "two", "own"):
        (folder / f"{name}.patch").write_text(name, encoding="utf-8")

    found = read(
        recipe,
        PATH
        + 'patches = ["patches/own.patch"]\n[source.series]\npath = "patches"\nexclude = ["one.patch"]\n',
    )

    assert [(patch.name, patch.origin) for patch in found.source.patches] == [
        ("two.patch", "recipe:patches/two.patch"),
        ("own.patch", "recipe:patches/own.patch"),
    ]
    assert found.source.patches[0].sha256 == hashlib.sha256(b"two").hexdigest()


def series_of(recipe: Path, files: dict[str, str]) -> str:
    """A source with a series out of an archive."""
    digest = packed(recipe.parent / "d.tar.gz", files)
    return PATH + f'[source.series]\narchive = "d.tar.gz"\nsha256 = "{digest}"\n'


def test_a_series_out_of_an_archive_is_locked_patch_by_patch(recipe: Path, tree: Path) -> None:
    """Each has a digest of its own."""
    source = series_of(recipe, {"debian/patches/series": "a.patch\n", "debian/patches/a.patch": "a"})

    (patch,) = read(recipe, source).source.patches

    assert (patch.origin, patch.sha256) == (
        "series:debian/patches/a.patch",
        hashlib.sha256(b"a").hexdigest(),
    )


def test_a_series_that_names_what_is_not_there_is_said(recipe: Path, tree: Path) -> None:
    """Before anything is built."""
    source = series_of(recipe, {"debian/patches/series": "gone.patch\n"})

    assert refused(recipe, source) == "recipe-names-missing-file"


def test_an_archive_without_a_series_is_said(recipe: Path, tree: Path) -> None:
    """An empty list of patches is never assumed."""
    source = series_of(recipe, {"debian/patches/other": "x"})

    assert refused(recipe, source) == "recipe-names-missing-file"


@pytest.mark.parametrize(
    "source",
    [
        '[source]\npath = "gone"\nepoch = 1700000000\n',
        PATH + 'patches = ["gone.patch"]\n',
        f'[source]\narchive = "gone.tar"\nsha256 = "{"0" * 64}"\nepoch = 1700000000\n',
        PATH + '[source.series]\npath = "gone"\n',
    ],
    ids=["folder", "patch", "archive", "series"],
)
def test_what_the_recipe_names_and_is_not_there_is_said(recipe: Path, tree: Path, source: str) -> None:
    """With its key."""
    assert refused(recipe, source) == "recipe-names-missing-file"


def test_files_of_an_allowed_folder_are_locked_and_fetched(recipe: Path, tree: Path) -> None:
    """Who runs the command may open a folder beside the recipe's own, archives included."""
    other = recipe.parent.parent / "shared"
    other.mkdir()
    digest = packed(other / "a.tar.gz", {"top/x": "x"})
    overlay = (
        f'[[source.overlay]]\narchive = "../shared/a.tar.gz"\nsha256 = "{digest}"\nto = "third_party/x"\n'
    )

    found = read(recipe, PATH + overlay, allowed=(other,))

    assert found.source.overlays[0].artifact is not None
    assert found.source.overlays[0].artifact.locator == "file:../shared/a.tar.gz"
