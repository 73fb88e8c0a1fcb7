"""The builder image out of locked packages: resolved once, then made anywhere, without a network."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from torchbuild.cli.survey import UNPACKING, find_image
from torchbuild.edges.apt_sources import debian_mirror
from torchbuild.edges.atomic import translated, workroom, write_text
from torchbuild.edges.engine import find_engine
from torchbuild.edges.image_layer import STATUS, member_text
from torchbuild.edges.image_load import EngineStorage, UnpackedRoots
from torchbuild.edges.image_packages import PackageQuestion
from torchbuild.edges.image_root import make_root, write_repository
from torchbuild.edges.oci_archive import write_archive
from torchbuild.edges.trees import StoreTrees
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef, is_sha256
from torchbuild.resolve.image_inputs import (
    ARCHITECTURES,
    check_installed,
    check_revision,
    inputs_digest,
    locked_image,
    packages_of,
)

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.edges.image_load import ImageStorage
    from torchbuild.edges.oci_archive import ImageFile
    from torchbuild.model.lock import Lock
    from torchbuild.model.locked_image import LockedImage
    from torchbuild.model.recipe import Recipe

__all__ = ["ensure_image", "have_locked_image", "image_to_lock", "lock_packages", "write_image"]

Tell = Callable[[str], None]


def lock_packages(recipe: Recipe, there: World, tell: Tell) -> LockedImage | None:
    """All packages of the recipe's image as they are today; None where it is not made of packages.

    Raises:
        RecipeError: ``image-package-missing``, ``image-packages-impossible``.
        FetchError: ``package-lists-refused``, ``package-list-unreadable``.
        HostError: ``no-debian-mirror``, ``apt-missing``, ``keyring-missing``.
    """
    image = recipe.image
    if image is None or image.suite is None:
        return None
    tell(f"resolving {len(image.packages)} packages of {image.suite}, and what they need")
    base = debian_mirror(there.mirrors.debian)
    with workroom(_folder(there), "room") as room:
        question = PackageQuestion(
            room,
            mirror=base,
            suite=image.suite,
            components=image.components,
            architecture=ARCHITECTURES[recipe.target.machine],
        )
        uris = question.uris(image.packages)
    packages = packages_of(uris, image.suite, base)
    return locked_image(image.suite, recipe.target.machine, image.packages, packages)


def image_to_lock(recipe: Recipe, there: World, tell: Tell) -> tuple[ImageRef | None, LockedImage | None]:
    """The recipe's image and what it is made of; made where it is made here, else as the engine has it.

    Raises:
        HostError: ``image-missing``, ``image-other-id``, ``image-not-reproduced`` where the recipe names
            another id; what `lock_packages` and `ensure_image` raise.
    """
    builder = lock_packages(recipe, there, tell)
    if recipe.image is None or builder is None:
        return find_image(recipe, there.places), None
    found = ensure_image(builder, recipe.image.name, _storage(recipe, there), there, tell)
    if recipe.image.id not in (None, found.id):
        raise _not_reproduced(found.name, found.id, str(recipe.image.id))
    return found, builder


def have_locked_image(lock: Lock, recipe: Recipe, there: World, tell: Tell) -> None:
    """Make the lock's image where the engine has none and the lock knows what it is made of.

    Raises:
        LockError, FetchError, HostError: as `ensure_image`.
    """
    if lock.builder is not None and lock.image is not None:
        storage = _storage(recipe, there)
        ensure_image(lock.builder, lock.image.name, storage, there, tell, wanted=lock.image.id)


def _storage(recipe: Recipe, there: World) -> ImageStorage:
    """Where this machine's builds look for images."""
    if recipe.machine.engine in UNPACKING:
        return UnpackedRoots(there.places.roots)
    return EngineStorage(find_engine(recipe.machine.engine))


def ensure_image(
    builder: LockedImage,
    name: str,
    storage: ImageStorage,
    there: World,
    tell: Tell,
    *,
    wanted: str | None = None,
) -> ImageRef:
    """The image where builds look for it: found by what it is made of, else made and handed over.

    Args:
        builder: what it is made of.
        name: what the recipe calls it.
        storage: where it is kept.
        there: the edges.
        tell: gets a line before what takes long.
        wanted: the id that it must have.

    Raises:
        LockError: ``image-revision-other``.
        HostError: ``image-not-reproduced``, and what making and handing over raise.
    """
    inputs, folder = inputs_digest(builder), _folder(there)
    record = folder / f"{inputs}.json"
    with FileLock(f"{record}.lock"):
        known = wanted or _recorded(record)
        if known is None or not storage.has(known):
            known = _make(builder, name, storage, there, tell)
            write_text(record, json.dumps({"id": known}) + "\n")
            if wanted is not None and known != wanted:
                raise _not_reproduced(name, known, wanted)
    return ImageRef(name=name, id=known)


def _make(builder: LockedImage, name: str, storage: ImageStorage, there: World, tell: Tell) -> str:
    called = f"{_without_tag(name)}:inputs-{inputs_digest(builder)[:16]}"
    with workroom(_folder(there), "room") as room:
        archive = room / "image.tar"
        made = write_image(builder, archive, called, there, tell)
        tell(f"handing the image over, {made.layer.size / 1e6:.0f} MB")
        storage.take(archive, ImageRef(name=name, id=made.config.sha256), called)
    return made.config.sha256


def write_image(builder: LockedImage, target: Path, name: str, there: World, tell: Tell) -> ImageFile:
    """Write the image as an archive; packages that the store lacks are fetched first.

    Raises:
        LockError: ``image-revision-other``.
        FetchError: what fetching and reading the store raise.
        HostError: ``image-packages-other``, ``mmdebstrap-missing``, ``image-root-failed``,
            ``package-unreadable``; disk and rights.
    """
    check_revision(builder)
    size = sum(item.size or 0 for item in builder.packages)
    tell(f"making the builder image of {len(builder.packages)} packages, {size / 1e6:.0f} MB")
    there.network.fetch(builder.packages, lambda _done, _total, _name: None)
    with workroom(_folder(there), "room") as room:
        trees = StoreTrees(there.store)
        files = {item.sha256: trees.stored(item.sha256) for item in builder.packages}
        write_repository(room / "repository", builder, files)
        root = room / "root.tar"
        make_root(builder, room / "repository", root, _folder(there) / f"{inputs_digest(builder)}.log")
        check_installed(builder, member_text(root, STATUS))
        return write_archive(target, root, builder, inputs=inputs_digest(builder), name=name)


def _folder(there: World) -> Path:
    folder = there.places.cache / "images"
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _recorded(record: Path) -> str | None:
    """The id that these packages gave before, on this machine."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        known = json.loads(record.read_text(encoding="utf-8")).get("id")
        if isinstance(known, str) and is_sha256(known):
            return known
    return None


def _without_tag(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]


def _not_reproduced(name: str, seen: str, wanted: str) -> HostError:
    return HostError(
        "image-not-reproduced",
        f"{name}: the locked packages gave another image than the one that was locked",
        why=(f"seen {seen}", f"wanted {wanted}", "the packages are the same: what made the root is not"),
        fix="Use the versions of mmdebstrap and apt that made the lock, or run torchbuild lock anew here.",
    )
