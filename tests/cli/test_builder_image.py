"""When an image is made, and when it is found: an engine that notes what it is asked stands in for a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.cli.builder_image import ensure_image, have_locked_image, image_to_lock, write_image
from torchbuild.cli.locking import World, world
from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.edges.image_load import EngineStorage
from torchbuild.errors import FetchError, HostError, LockError, RecipeError
from torchbuild.model.artifact import Artifact, ImageRef
from torchbuild.model.locked_image import LockedImage
from torchbuild.resolve.image_inputs import ROOT_REVISION, inputs_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchbuild.model.lock import Lock
    from torchbuild.model.recipe import Recipe

ID = "ab" * 32
IMAGE = '[python]\nversion = "3.13"\n[image]\nname = "localhost/x/y"\n'
BUILDER = LockedImage(
    suite="sample",
    architecture="amd64",
    packages=(Artifact(locator="file:apt_3.0_amd64.deb", sha256="cd" * 32, size=1),),
    epoch=1754697600,
    revision=ROOT_REVISION,
)


@pytest.fixture
def here(machine: Path, recipe: Path) -> World:
    """The edges for a recipe on an empty machine."""
    return world(read_recipe(recipe), places(), recipe.parent)


@pytest.fixture
def engine(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Puts a program called podman on PATH that answers `image inspect` as told."""

    def make(inspect: str) -> str:
        program = machine / "bin" / "podman"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f'#!/bin/sh\necho "$2 $3" >>{machine}/asked\n[ "$2" != image ] || {{ {inspect}; }}\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return str(program)

    return make


def with_image(recipe: Path, keys: str = "") -> Recipe:
    """The recipe, with an image."""
    recipe.write_text(recipe.read_text() + IMAGE + keys)
    return read_recipe(recipe)


def note(_text: str) -> None:
    """Nobody listens."""


def test_an_image_that_is_there_is_not_made_again(
    here: World, engine: Callable[[str], str], machine: Path
) -> None:
    """A build finds the locked image by its id: one question, and nothing is fetched or made."""
    found = ensure_image(BUILDER, "localhost/x/y", EngineStorage(engine(f"echo {ID}")), here, note, wanted=ID)

    assert found == ImageRef(name="localhost/x/y", id=ID)
    assert (machine / "asked").read_text() == "image inspect\n"


def test_what_these_packages_gave_before_is_known(here: World, engine: Callable[[str], str]) -> None:
    """Locking again makes no image where the packages are the same."""
    record = here.places.cache / "images" / f"{inputs_digest(BUILDER)}.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"id": ID}))

    storage = EngineStorage(engine(f"echo {ID}"))

    assert ensure_image(BUILDER, "localhost/x/y", storage, here, note).id == ID


@pytest.mark.parametrize("text", ["", "[]", "{", '{"id": "latest"}', '{"id": 1}'])
def test_a_note_that_is_none_makes_the_image_anew(
    here: World, engine: Callable[[str], str], text: str
) -> None:
    """A file that was half written, or by somebody else, is not believed."""
    record = here.places.cache / "images" / f"{inputs_digest(BUILDER)}.json"
    record.parent.mkdir(parents=True)
    record.write_text(text)
    with pytest.raises(RecipeError) as caught:
        ensure_image(BUILDER, "localhost/x/y", EngineStorage(engine(f"echo {ID}")), here, note)

    assert caught.value.reference == "recipe-file-missing"  # it set out to fetch the package


def test_a_package_that_cannot_be_had_makes_no_image(
    here: World, engine: Callable[[str], str], recipe: Path, machine: Path
) -> None:
    """A file with other bytes than the locked ones never gets into a root, and leaves nothing behind."""
    (recipe.parent / "apt_3.0_amd64.deb").write_text("other bytes")
    storage = EngineStorage(engine("echo no such image >&2; exit 1"))
    with pytest.raises(FetchError):
        ensure_image(BUILDER, "x", storage, here, note, wanted=ID)

    assert [path.suffix for path in (machine / "cache/images").iterdir()] == [".lock"]


def test_a_lock_of_another_version_is_told_before_anything_is_fetched(here: World, machine: Path) -> None:
    """The locked id could not come out of it."""
    other = BUILDER.model_copy(update={"revision": ROOT_REVISION + 1})
    with pytest.raises(LockError) as caught:
        write_image(other, machine / "image.tar", "x", here, note)

    assert caught.value.reference == "image-revision-other"


def test_an_image_made_elsewhere_is_taken_as_the_engine_has_it(
    here: World, engine: Callable[[str], str], recipe: Path
) -> None:
    """Without a suite nothing is resolved: the lock holds the id that the engine says."""
    engine(f"echo {ID}")

    assert image_to_lock(with_image(recipe), here, note) == (ImageRef(name="localhost/x/y", id=ID), None)


def test_a_build_on_this_machine_needs_no_image(here: World, recipe: Path) -> None:
    """No table, no question to any engine."""
    assert image_to_lock(read_recipe(recipe), here, note) == (None, None)


def test_a_suite_without_a_mirror_is_told(
    here: World, recipe: Path, engine: Callable[[str], str], machine: Path
) -> None:
    """A mirror that does not answer, or a machine without apt or keys, ends the lock with the reason."""
    engine(f"echo {ID}")
    wanted = with_image(recipe, 'suite = "sample"\n[machine]\ndebian_mirror = "http://127.0.0.1:1/debian"\n')
    with pytest.raises((FetchError, HostError)) as caught:
        image_to_lock(wanted, world(wanted, places(), recipe.parent), note)

    assert caught.value.reference in {"package-lists-refused", "apt-missing", "keyring-missing"}
    assert list((machine / "cache/images").iterdir()) == []


def test_a_lock_with_packages_has_its_image_when_a_build_begins(
    here: World, recipe: Path, engine: Callable[[str], str], make_lock: Callable[..., Lock], machine: Path
) -> None:
    """An engine that has it is asked once; a lock without packages asks nobody."""
    engine(f"echo {ID}")
    image = ImageRef(name="localhost/x/y", id=ID)
    have_locked_image(make_lock(image=image), read_recipe(recipe), here, note)
    assert not (machine / "asked").exists()

    have_locked_image(make_lock(image=image, builder=BUILDER), read_recipe(recipe), here, note)
    assert (machine / "asked").read_text().splitlines()[-1] == "image inspect"
