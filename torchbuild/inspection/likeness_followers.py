"""Who can follow the instructions of which processor family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torchbuild.inspection.likeness_arm import FollowArm
from torchbuild.inspection.likeness_frame import Frame
from torchbuild.inspection.likeness_image import Image
from torchbuild.inspection.likeness_x86 import FollowX86

__all__ = ["Follow", "FollowKind", "followers"]


class Follow(Protocol):
    """One function, followed instruction by instruction."""

    at: int
    """Address of the instruction that is next."""
    registers: list[int | None]
    """Values of the general registers; None where one is not known."""
    is_over: bool
    """Whether the function returned."""

    def give(self, first: int, second: int, third: int) -> None:
        """Arguments, before the first step."""
        ...

    def step(self) -> None:
        """Follow one instruction.

        Raises:
            Stop: it is none that is known, or leads where nothing is known.
            MalformedError: the library is not what its headers say.
        """
        ...

    @property
    def arguments(self) -> tuple[int | None, int | None, int | None]:
        """What a call would be given now."""
        ...

    @property
    def returned(self) -> int | None:
        """What the function returned; None where that is not known."""
        ...

    def names_place(self, place: int, start: int, end: int) -> bool:
        """Whether the code from `start` to `end` takes an address that a register of now leads to."""
        ...


class FollowKind(Protocol):
    """How one begins."""

    def __call__(self, image: Image, frame: Frame, start: int) -> Follow:
        """At an address, with nothing known but where the stack is."""
        ...


def followers() -> Mapping[str, FollowKind]:
    """By the name of the machine."""
    return {"aarch64": FollowArm, "x86_64": FollowX86}
