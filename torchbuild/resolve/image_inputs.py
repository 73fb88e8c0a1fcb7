"""From the packages that a recipe names to all that its builder image is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from urllib.parse import unquote

from torchbuild.errors import FetchError, HostError, LockError, RecipeError
from torchbuild.model.artifact import Artifact, is_sha256
from torchbuild.model.debian_control import paragraphs
from torchbuild.model.locked_image import LockedImage

__all__ = [
    "ARCHITECTURES",
    "EPOCH",
    "ROOT_REVISION",
    "check_installed",
    "check_revision",
    "inputs_digest",
    "installed_packages",
    "locked_image",
    "package_name",
    "packages_of",
]

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Processor family -> what Debian calls it."""

ROOT_REVISION = 1
"""Raise it when the same packages would give other bytes: what was made before is then not taken for them."""

EPOCH = 1754697600
"""2025-08-09. It must lie after the compilers were packed: their times are in the keys of compiler caches."""


def packages_of(uris: str, suite: str, base: str) -> tuple[Artifact, ...]:
    """What apt would fetch, as files by digest that name no mirror, sorted by name.

    Args:
        uris: what ``apt-get --print-uris`` printed: address, file name, size and digest a line.
        suite: such as ``trixie``.
        base: the mirror's address, which is left out.

    Raises:
        FetchError: ``package-list-unreadable``.
    """
    found = [_package(line, suite, base.rstrip("/") + "/") for line in uris.splitlines() if line[:1] == "'"]
    return tuple(sorted(found, key=lambda item: item.name))


def _package(line: str, suite: str, base: str) -> Artifact:
    address, _, rest = line[1:].partition("' ")
    words = rest.split(" ")
    kind, _, digest = words[-1].partition(":")
    if not (address.startswith(base) and kind == "SHA256" and is_sha256(digest) and words[1].isdecimal()):
        raise FetchError(
            "package-list-unreadable",
            "apt does not say exactly what it would fetch",
            why=(f"seen: {line[:300]}", "wanted: an address at the mirror, a size and a SHA-256 digest"),
            fix="Check the mirror's lists, or set [machine] debian_mirror to another one.",
        )
    path = unquote(address.removeprefix(base))
    return Artifact(locator=f"debian:{suite}/{path}", sha256=digest, size=int(words[1]))


def package_name(package: Artifact) -> str:
    """Name of a package out of its file's, ``NAME_VERSION_ARCHITECTURE.deb``."""
    return package.name.partition("_")[0]


def locked_image(
    suite: str, machine: str, asked: Iterable[str], packages: tuple[Artifact, ...]
) -> LockedImage:
    """The lock's part on the builder image.

    Raises:
        RecipeError: ``image-package-missing`` where a package that was asked for is not among them.
    """
    missing = sorted(set(asked) - {package_name(item) for item in packages})
    if missing:
        raise RecipeError(
            "image-package-missing",
            f"{', '.join(missing)}: no package of that name in {suite}",
            why="wanted: names of packages, not of what several provide",
            fix=f"Correct image.packages; look it up: apt-cache search --names-only {missing[0]}",
        )
    return LockedImage(
        suite=suite,
        architecture=ARCHITECTURES[machine],
        packages=packages,
        epoch=EPOCH,
        revision=ROOT_REVISION,
    )


def inputs_digest(image: LockedImage) -> str:
    """All that decides the image, as one value. Where the packages can be had does not."""
    packages = [[item.name, item.sha256] for item in image.packages]
    inputs = [image.revision, image.epoch, image.architecture, image.suite, sorted(packages)]
    return hashlib.sha256(json.dumps(inputs, separators=(",", ":")).encode()).hexdigest()


def check_revision(image: LockedImage) -> None:
    """Whether this version makes roots as the one did that locked the image.

    Raises:
        LockError: ``image-revision-other``.
    """
    if image.revision != ROOT_REVISION:
        raise LockError(
            "image-revision-other",
            "the lock's builder image was made by another version of torchbuild",
            why=(f"seen: revision {image.revision}", f"wanted: revision {ROOT_REVISION}"),
            fix="Run torchbuild lock and review what changed, or use the version that made the lock.",
        )


def installed_packages(status: str) -> frozenset[str]:
    """Names of the files that a root's packages came from, out of dpkg's status; only what is whole."""
    found = set()
    for fields in paragraphs(status):
        if fields.get("Status") == "install ok installed":
            version = fields["Version"].rpartition(":")[2]
            found.add(f"{fields['Package']}_{version}_{fields['Architecture']}.deb")
    return frozenset(found)


def check_installed(image: LockedImage, status: str) -> None:
    """Whether a root holds the locked packages and no other.

    Raises:
        HostError: ``image-packages-other``.
    """
    wanted, seen = {item.name for item in image.packages}, installed_packages(status)
    if seen != wanted:
        raise HostError(
            "image-packages-other",
            "the root that was made does not hold the locked packages",
            why=(
                f"seen and not wanted: {', '.join(sorted(seen - wanted)[:10]) or 'none'}",
                f"wanted and not seen: {', '.join(sorted(wanted - seen)[:10]) or 'none'}",
            ),
            fix="Run torchbuild lock again; if it comes back, name what is missing in image.packages.",
        )
