"""NVIDIA's redist documents: which products have them, and what a build needs of the toolkit's."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range
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


def redist_product(part: str) -> ProductFact:
    """What is known of a part's documents."""
    return ProductFact.model_validate(frozen_value(facts_file("redist_products")[part]))


def cuda_components(release: str) -> tuple[ComponentFact, ...]:
    """What a build needs of a release of the toolkit, in the order of the table."""
    rows = facts(ComponentFact, "cuda_components", "component")
    return tuple(row for row in rows if in_range(release, row.cuda))
