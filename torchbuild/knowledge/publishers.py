"""Where publishers keep what they publish."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from torchbuild.knowledge.tables import Fact
from torchbuild.model.frozen import frozen_value

__all__ = ["publisher_addresses"]


class PublisherFact(Fact):
    """One publisher."""

    base: str
    """Its address, with the slash at the end."""


@cache
def publisher_addresses() -> dict[str, str]:
    """By the kind of a locator, such as ``nvidia``, the address that its path is below."""
    text = (files("torchbuild.knowledge") / "data" / "publishers.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)
    return {kind: PublisherFact.model_validate(frozen_value(row)).base for kind, row in rows.items()}
