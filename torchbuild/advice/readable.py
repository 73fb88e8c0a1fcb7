"""Values of a wish that are not what their field holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.versions import parsed_driver
from torchbuild.advice.wish import Wish

__all__ = ["unreadable"]

_NUMBERS = r"[0-9]{1,4}(\.[0-9]{1,6}){0,4}"
_SHAPES = {
    "torch": (rf"{_NUMBERS}([a-z0-9.+-]{{1,32}})?", "2.6 or 2.6.0"),
    "glibc": (r"[0-9]{1,4}\.[0-9]{1,4}", "2.28"),
    "builder_glibc": (r"[0-9]{1,4}\.[0-9]{1,4}", "2.36"),
    "python": (r"[0-9]\.[0-9]{1,2}(\.[0-9]{1,3})?t?", "3.11, or 3.13t without the global lock"),
    "gcc": (r"[0-9]{1,2}(\.[0-9]{1,3}){0,2}", "13 or 13.3"),
    "cudnn": (rf"none|{_NUMBERS}", "9.1.0.70, or none"),
    "nccl": (rf"none|{_NUMBERS}", "2.21.5, or none"),
}
"""By field, what it must look like, and how that is said."""


def unreadable(wish: Wish) -> Iterator[Conflict]:
    """A conflict for each value that cannot be weighed, because nobody can tell what it means."""
    for field, (shape, said) in _SHAPES.items():
        value = getattr(wish, field)
        if value and not re.fullmatch(shape, value, re.ASCII):
            yield _conflict(field, value, said)
    if wish.driver and parsed_driver(wish.driver) is None:
        yield _conflict("driver", wish.driver, "535 or 535.129.03")


def _conflict(field: str, value: str, said: str) -> Conflict:
    form = Cited(table="wish", row=field, says=f"{field} is written like {said}")
    return Conflict(
        reference="wish-unreadable",
        what=f"{value!r} is no {field}",
        facts=(cite.asked(field, repr(value)), form),
        fix=f"Write {field} like {said}.",
    )
