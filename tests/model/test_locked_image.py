"""What a lock says of the builder image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock
from torchbuild.model.locked_image import LockedImage

PACKAGE = Artifact(locator="debian:sample/pool/main/a/apt/apt_3.0_amd64.deb", sha256="ab" * 32, size=1)


def image(**changed: Any) -> LockedImage:
    """An image of one package; any field of it can be another one."""
    fields: dict[str, Any] = {
        "suite": "sample", "architecture": "amd64", "packages": (PACKAGE,), "epoch": 1754697600, "revision": 1,
    }  # fmt: skip
    return LockedImage.model_validate(fields | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"packages": ()},
        {"packages": (PACKAGE, PACKAGE)},
        {"packages": (PACKAGE.model_copy(update={"locator": "debian:sample/pool/main/a/apt/apt.deb"}),)},
        {"packages": (PACKAGE.model_copy(update={"locator": "debian:sample/pool/../-o_1_amd64.deb"}),)},
        {"suite": "--option"},
        {"suite": "a b"},
        {"architecture": "../x"},
        {"epoch": -1},
    ],
    ids=[
        "no packages",
        "one twice",
        "no version",
        "an option as package",
        "an option",
        "two words",
        "a path",
        "no time",
    ],
)
def test_a_lock_that_was_tampered_with_is_no_command_line(changed: dict[str, Any]) -> None:
    """What stands in a lock ends up in arguments and paths: only plain words may stand there."""
    with pytest.raises(ValidationError):
        image(**changed)


def test_packages_are_files_of_the_lock(make_lock: Callable[..., Lock]) -> None:
    """What the image is made of is fetched with everything else."""
    assert PACKAGE in make_lock(builder=image()).artifacts()


def test_a_lock_without_packages_is_one(make_lock: Callable[..., Lock]) -> None:
    """Locks that are older than this, and images that were made elsewhere, stay readable."""
    assert make_lock().builder is None
