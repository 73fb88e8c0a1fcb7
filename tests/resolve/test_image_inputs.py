"""From apt's answer to all that an image is made of."""

from __future__ import annotations

import pytest

from torchbuild.errors import FetchError, HostError, LockError, RecipeError
from torchbuild.model.artifact import Artifact
from torchbuild.model.locked_image import LockedImage
from torchbuild.resolve.image_inputs import (
    ROOT_REVISION,
    check_installed,
    check_revision,
    inputs_digest,
    installed_packages,
    locked_image,
    package_name,
    packages_of,
)

BASE = "http://mirror.invalid/debian"
DIGEST = "ab" * 32
URIS = f"""\
'{BASE}/pool/main/t/tool%2b%2b/tool%2b%2b_2.0%7erc1%2bb1_amd64.deb' tool++_2.0~rc1+b1_amd64.deb 106 SHA256:{DIGEST}
'{BASE}/pool/main/a/apt/apt_3.0_amd64.deb' apt_3.0_amd64.deb 103 SHA256:{"cd" * 32}
"""


@pytest.fixture
def packages() -> tuple[Artifact, ...]:
    """Two packages, as apt names them."""
    return packages_of(URIS, "sample", BASE)


@pytest.fixture
def image(packages: tuple[Artifact, ...]) -> LockedImage:
    """An image of them."""
    return locked_image("sample", "x86_64", ["tool++"], packages)


def test_a_lock_names_no_mirror(packages: tuple[Artifact, ...]) -> None:
    """The packages of a lock can be had from any mirror: suite and path name them, in order."""
    assert [item.locator for item in packages] == [
        "debian:sample/pool/main/a/apt/apt_3.0_amd64.deb",
        "debian:sample/pool/main/t/tool++/tool++_2.0~rc1+b1_amd64.deb",
    ]
    assert (packages[1].sha256, packages[1].size) == (DIGEST, 106)
    assert [package_name(item) for item in packages] == ["apt", "tool++"]


@pytest.mark.parametrize(
    "line",
    [
        f"'http://other.invalid/x.deb' x.deb 1 SHA256:{DIGEST}",
        f"'{BASE}/pool/x.deb' x.deb 1 MD5Sum:{DIGEST[:32]}",
        f"'{BASE}/pool/x.deb' x.deb many SHA256:{DIGEST}",
        f"'{BASE}/pool/x.deb' x.deb",
    ],
    ids=["another place", "a weak digest", "no size", "no digest"],
)
def test_what_is_not_exact_is_not_locked(line: str) -> None:
    """A package without a digest that holds is refused, not locked by its name."""
    with pytest.raises(FetchError) as caught:
        packages_of(line, "sample", BASE)

    assert caught.value.reference == "package-list-unreadable"


def test_a_package_that_was_asked_for_is_there(packages: tuple[Artifact, ...]) -> None:
    """Apt takes a name for a pattern or an action where it can; here a name is a name."""
    with pytest.raises(RecipeError) as caught:
        locked_image("sample", "x86_64", ["apt", "lib.*"], packages)

    assert (caught.value.reference, caught.value.what[:5]) == ("image-package-missing", "lib.*")


def test_where_packages_come_from_does_not_decide_the_image(image: LockedImage) -> None:
    """The same bytes are the same image, from whatever place and in whatever order."""
    moved = tuple(
        item.model_copy(update={"locator": item.locator.replace("pool/main", "pool/contrib")})
        for item in reversed(image.packages)
    )

    assert inputs_digest(image.model_copy(update={"packages": moved})) == inputs_digest(image)


@pytest.mark.parametrize("field", ["suite", "architecture", "epoch", "revision", "packages"])
def test_all_that_decides_the_image_is_in_its_inputs(image: LockedImage, field: str) -> None:
    """No image is taken for another one."""
    values = {
        "suite": "other",
        "architecture": "arm64",
        "epoch": 1,
        "revision": 9,
        "packages": image.packages[:1],
    }

    assert inputs_digest(image.model_copy(update={field: values[field]})) != inputs_digest(image)


def test_a_lock_of_another_way_of_making_roots_is_told_at_once(image: LockedImage) -> None:
    """Before minutes are spent on a root that cannot be the locked one."""
    check_revision(image)
    with pytest.raises(LockError) as caught:
        check_revision(image.model_copy(update={"revision": ROOT_REVISION + 1}))

    assert caught.value.reference == "image-revision-other"


STATUS = """\
Package: apt
Status: install ok installed
Architecture: amd64
Version: 3.0
Description: first line
 Package: not a field

Package: tool++
Status: install ok installed
Architecture: amd64
Version: 1:2.0~rc1+b1
"""


def test_a_root_with_the_locked_packages_is_taken(image: LockedImage) -> None:
    """Epochs are part of a version and not of a file's name."""
    check_installed(image, STATUS)

    assert installed_packages(STATUS) == {"apt_3.0_amd64.deb", "tool++_2.0~rc1+b1_amd64.deb"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3.0", "3.1"),
        ("install ok installed\nArchitecture: amd64\nVersion: 1", "install ok unpacked\nVersion: 1"),
        ("Package: apt", "Package: other"),
    ],
    ids=["another version", "half installed", "another package"],
)
def test_a_root_with_other_packages_is_refused(image: LockedImage, old: str, new: str) -> None:
    """What was installed is read back: asked is not got."""
    with pytest.raises(HostError) as caught:
        check_installed(image, STATUS.replace(old, new))

    assert caught.value.reference == "image-packages-other"
