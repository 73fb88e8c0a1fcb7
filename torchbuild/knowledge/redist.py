"""NVIDIA's redist documents: which products have them, and what a build needs of the toolkit's."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.specifiers import SpecifierSet

from torchbuild.knowledge.tables import Fact
from torchbuild.model.frozen import frozen_value

__all__ = ["ComponentFact", "ProductFact", "cuda_components", "redist_product"]


class ProductFact(Fact):
    """A product with documents."""

    product: str
    """Its directory below ``compute``."""
    component: str
    """The component that is the part; empty for the toolkit, which is many."""
    releases: tuple[str, ...]
    """Releases whose document was seen by somebody."""


class ComponentFact(Fact):
    """A component of the toolkit that a build needs."""

    name: str
    """As in the document."""
    cuda: str
    """Releases that have it, a range."""
    why: str
    """What the build needs it for."""
    is_optional: bool
    """Whether a platform may be without it."""


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def redist_product(part: str) -> ProductFact:
    """What is known of a part's documents."""
    return ProductFact.model_validate(frozen_value(_table("redist_products")[part]))


def cuda_components(release: str) -> tuple[ComponentFact, ...]:
    """What a build needs of a release of the toolkit, in the order of the table."""
    rows = (ComponentFact.model_validate(frozen_value(row)) for row in _table("cuda_components")["component"])
    return tuple(row for row in rows if SpecifierSet(row.cuda).contains(release))
