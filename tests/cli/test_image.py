"""`torchbuild image`."""

from __future__ import annotations

from typing import Any


def test_an_image_is_that_of_a_lock(desk: Any) -> None:
    """Without a lock nobody knows what the image is made of; none is made in passing."""
    ran = desk.run("image", desk.recipe)

    assert (ran.code, ran.out, "error[lock-missing]" in ran.err) == (5, "", True)


def test_a_lock_without_packages_makes_no_image(desk: Any) -> None:
    """A build on this machine, or with an image from elsewhere, is told so, with the keys that change it."""
    desk.lock()
    ran = desk.run("image", desk.recipe)

    assert (ran.code, "error[image-not-of-packages]" in ran.err, "image.suite" in ran.err) == (2, True, True)
